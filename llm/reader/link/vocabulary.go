package link

import "parley/llm/reader/vectors"

// isEnglishWord reports whether a word has a vector. Such words are not treated as
// misspelled values.
func isEnglishWord(word string) bool { return vectors.Load().Number(word) >= 0 }
