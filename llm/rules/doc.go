// Package rules does the jobs of [llm.Jobs] without a model: it reads a question
// by rules over the names and values of the datasets, and says so when it does
// not understand one.
//
// A question goes through these stages, a file each: words (tokens.go, words.go),
// what is known of the datasets (profile.go, index.go), what the words stand for
// (linker.go), what is asked (phrases.go, reading.go and the files named read_*),
// how tables are joined (joins.go), and SQL (build.go). Nothing here runs a query
// on its own account but to learn what a dataset holds.
//
// The same question over the same data is read the same way every time.
package rules
