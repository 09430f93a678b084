package storage

// Input is what a run that waits asks its asker.
type Input struct {
	Question string
	// Options are the possible answers; none when any text is.
	Options []InputOption
}

// InputOption is a possible answer.
type InputOption struct {
	ID    string
	Label string
	// Query is the query that it chooses; "" for none.
	Query string
}
