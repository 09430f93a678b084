// Package outcome has the results of measured questions. The measure command writes them
// and calibrate reads them, as JSON with these field names.
package outcome

import (
	"time"

	"parley/llm/reader/ir"
	"parley/llm/reader/rank"
)

// Outcome is a question with its readings, the best first.
type Outcome struct {
	Set, Database, Question string
	// None says that the data has no answer.
	None       bool `json:",omitempty"`
	Follows    bool `json:",omitempty"`
	Answerable float64
	Readings   []Reading
	// Alternative is the number of the reading that is about as likely as the first, so that
	// the asker is asked; 0 for none.
	Alternative int `json:",omitempty"`
	Took        time.Duration
}

// Reading is one way to read a question.
type Reading struct {
	Right         bool
	Confidence    float64
	Features      []float64
	Circumstances []float64
	SQL           string    `json:",omitempty"`
	Unread        []string  `json:",omitempty"`
	Query         *ir.Query `json:"-"`
}

// Right reports whether the best reading is right.
func (o *Outcome) Right() bool { return len(o.Readings) > 0 && o.Readings[0].Right }

// Any reports whether any reading is right.
func (o *Outcome) Any() bool {
	for _, r := range o.Readings {
		if r.Right {
			return true
		}
	}
	return false
}

// Answered reports whether the best reading is confident enough to be an answer.
func (o *Outcome) Answered() bool {
	return len(o.Readings) > 0 && rank.IsSure(o.Readings[0].Confidence)
}

// Offered reports whether one of the two readings that the asker chooses from is right.
func (o *Outcome) Offered() bool {
	return o.Alternative > 0 && (o.Readings[0].Right || o.Readings[o.Alternative].Right)
}

// Confidence returns the confidence of the best reading; 0 if there is none.
func (o *Outcome) Confidence() float64 {
	if len(o.Readings) == 0 {
		return 0
	}
	return o.Readings[0].Confidence
}
