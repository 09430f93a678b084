// Package rank chooses among the queries that the network wrote: it runs them, drops
// those that fail, adds up the probability of those that give the same result, and says
// how sure the best one is.
package rank

import (
	"cmp"
	"math"
	"slices"
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
)

// Question is what was asked, and of what.
type Question struct {
	Tokens  []link.Token
	Input   *link.Input
	Catalog *catalog.Catalog
	Now     time.Time
	// Answerable is how likely it is, by the network, that the data holds an answer.
	Answerable float64
}

// Result is what a query gave, as far as it tells queries apart.
type Result struct {
	// Key is the same for the same rows.
	Key string
	// Rows and Columns say how large it is.
	Rows, Columns int
	// Empty says that there was nothing: no rows, or NULL alone.
	Empty bool
}

// Run runs a query. It says false for one that is not valid.
type Run func(sql string) (Result, bool, error)

// Reading is a query with all that can be said of it.
type Reading struct {
	Tokens []ir.Token
	Query  *ir.Query
	SQL    string
	// Probability is that of all queries with the same result together.
	Probability float64
	// Confidence is how likely the reading is right.
	Confidence float64
	// Unread are the words of the question that the query does not reflect.
	Unread []string
	Result
}

// Readings prints and runs candidates and pools those with the same result, the
// likeliest first.
func Readings(question Question, candidates []net.Candidate, run Run) ([]Reading, error) {
	var all []Reading
	values := question.Input.IRValues()
	byKey := map[string]int{}
	bySQL := map[string]int{}
	for _, c := range candidates {
		q, err := ir.Parse(c.Tokens, values)
		if err != nil {
			continue
		}
		sql, err := ir.SQL(q, question.Catalog, question.Now)
		if err != nil {
			continue
		}
		p := math.Exp(c.Score)
		if at, ok := bySQL[sql]; ok {
			all[at].Probability += p
			continue
		}
		result, ok, err := run(sql)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if at, ok := byKey[result.Key]; ok && !result.Empty {
			all[at].Probability += p
			bySQL[sql] = at
			continue
		}
		bySQL[sql] = len(all)
		if !result.Empty {
			byKey[result.Key] = len(all)
		}
		all = append(all, Reading{Tokens: c.Tokens, Query: q, SQL: sql, Probability: p, Result: result})
	}
	for i := range all {
		// A query that finds nothing is less likely what was meant.
		if all[i].Empty {
			all[i].Probability *= emptyShare
		}
		all[i].Confidence = all[i].Probability * question.Answerable
	}
	slices.SortStableFunc(all, func(a, b Reading) int { return cmp.Compare(b.Probability, a.Probability) })
	return all, nil
}

// emptyShare is what the probability of a query that finds nothing counts.
const emptyShare = 0.3
