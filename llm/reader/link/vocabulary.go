package link

import "parley/llm/reader/vectors"

// measuredUnit reports whether a word is an English one, so that it is not taken for a
// misspelled value.
func isEnglishWord(word string) bool { return vectors.Load().Number(word) >= 0 }
