package reader

import "parley/llm"

// Relevant names the datasets that a question is read against.
func Relevant(r *Reader, question string, datasets []llm.Dataset) []string {
	var names []string
	for _, d := range r.relevant(question, "", nil, datasets) {
		names = append(names, d.Name)
	}
	return names
}
