package link

import "parley/llm/reader/vectors"

// known reports whether a word is an English one, so that it is not taken for a
// misspelled value.
func known(word string) bool { return vectors.Load().Number(word) >= 0 }
