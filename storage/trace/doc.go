// Package trace tells the tracing store what happens: how runs went, as spans
// over OTLP, and how they were rated, as scores in Langfuse. With no such store
// set, ratings are in the records alone and nothing is traced.
//
// The trace of a run has the bytes of the run's id as its own, so that a score
// finds its trace without anything being looked up. What people ask, what is
// answered and what the data holds stay out of traces unless that is asked for.
package trace
