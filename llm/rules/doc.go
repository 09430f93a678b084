// Package rules does the jobs of [llm.Jobs] without a model: it reads a question
// by rules over the names and values of the datasets, and says so when it does
// not understand one.
//
// A question goes through these stages, a file each or a few:
//
//   - words: tokens.go, words.go, synonyms.go, places.go, phrases.go;
//   - what is known of the datasets, kept within bounds: profile.go, kinds.go,
//     index.go, cache.go, schema.go, and joins.go with join_paths.go;
//   - what the words may stand for: linker.go, link_names.go, link_values.go,
//     lookup.go;
//   - what is asked: reading.go runs the passes in read_*.go, each of which takes
//     the words that it understands; naming.go, measures.go, zones.go and wh.go
//     help them to tell columns apart, happenings.go finds the tables of what
//     happened to things, and settle*.go puts together what they found as a query
//     (query.go);
//   - SQL: build*.go;
//   - how sure that is: doubts.go, and check.go, which tries a query out where
//     that is cheap.
//
// plan.go, follow.go, search.go and answer.go do the other jobs; explain.go says
// how a question was read.
//
// No rule knows a dataset. The same question over the same data is read the same
// way every time, and nothing here runs a query but to learn what a dataset holds
// and whether a reading gives anything.
package rules
