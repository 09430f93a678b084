package storage

// Input is what a run that waits asks its asker. Its JSON is the data part of the message
// that asks.
type Input struct {
	// Name says what is asked for.
	Name     string `json:"name,omitempty"`
	Question string `json:"-"`
	// Options are the possible answers; none when any text is.
	Options []InputOption `json:"options"`
}

// InputOption is a possible answer.
type InputOption struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Query is the query that it chooses; "" for none.
	Query string `json:"query,omitempty"`
}
