package rules

import "strings"

// maxPhrase is the most words of a phrase that is looked for among values.
const maxPhrase = 12

// valueIndex finds the values of a table by their words.
type valueIndex struct {
	// whole has the values with just these words.
	whole map[string][]valueRef
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
	x := &valueIndex{whole: map[string][]valueRef{}, words: map[string][]valueRef{}}
	for _, c := range t.columns {
		for n, key := range c.normal {
			if key == "" {
				continue
			}
			ref := valueRef{c, n}
			x.whole[key] = append(x.whole[key], ref)
			if c.kind == kindNumber && c.typed {
				continue
			}
			seen := map[string]bool{}
			for _, w := range strings.Fields(key) {
				if !seen[w] {
					seen[w] = true
					x.words[w] = append(x.words[w], ref)
				}
			}
		}
	}
	return x
}

func (x *valueIndex) size() int {
	n := 0
	for key, refs := range x.whole {
		n += len(key) + 48 + 16*len(refs)
	}
	for key, refs := range x.words {
		n += len(key) + 48 + 16*len(refs)
	}
	return n
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
