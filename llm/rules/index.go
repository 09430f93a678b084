package rules

import "strings"

// maxPhrase is the most words of a phrase that is looked for among values.
const maxPhrase = 12

// valueIndex finds the values of a table by their words.
type valueIndex struct {
	// words has the values that a word occurs in.
	words map[string][]valueRef
}

// valueRef names a value: the nth of a column.
type valueRef struct {
	column *column
	n      int
}

func (v valueRef) text() string   { return v.column.values[v.n] }
func (v valueRef) normal() string { return v.column.normal[v.n] }

func newValueIndex(t *table) *valueIndex {
	x := &valueIndex{words: map[string][]valueRef{}}
	for _, c := range t.columns {
		for n, key := range c.normal {
			if key == "" {
				continue
			}
			ref := valueRef{c, n}
			for _, w := range strings.Fields(key) {
				refs := x.words[w]
				if len(refs) == 0 || refs[len(refs)-1] != ref {
					x.words[w] = append(refs, ref)
				}
			}
		}
	}
	return x
}

func (x *valueIndex) size() int {
	n := 0
	for key, refs := range x.words {
		n += len(key) + 48 + 16*len(refs)
	}
	return n
}

// whole finds the values with just these words.
func (x *valueIndex) whole(phrase string) []valueRef {
	var found []valueRef
	for _, ref := range x.containing(phrase) {
		if ref.normal() == phrase {
			found = append(found, ref)
		}
	}
	return found
}

// containing finds the values that hold a phrase, word by word.
func (x *valueIndex) containing(phrase string) []valueRef {
	words := strings.Fields(phrase)
	if len(words) == 0 {
		return nil
	}
	rarest := x.words[words[0]]
	for _, w := range words[1:] {
		if refs := x.words[w]; len(refs) < len(rarest) {
			rarest = refs
		}
	}
	var found []valueRef
	padded := " " + phrase + " "
	for _, ref := range rarest {
		if strings.Contains(" "+ref.normal()+" ", padded) {
			found = append(found, ref)
		}
	}
	return found
}
