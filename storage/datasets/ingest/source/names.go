package source

import (
	"strconv"
	"strings"
	"unicode"
)

// Names makes names unique. Its cost grows with their number, also if all are equal.
type Names struct {
	// Fold returns the same text for names that count as equal; nil is as for strings.EqualFold.
	Fold  func(string) string
	taken map[string]bool
	// next is the number that a repeated name gets next, unless another name has it.
	next map[string]int
}

// Reserve keeps Unique from giving a name.
func (n *Names) Reserve(name string) {
	if n.taken == nil {
		n.taken, n.next = map[string]bool{}, map[string]int{}
	}
	n.taken[n.fold(name)] = true
}

// Unique returns a name that is not taken, and reserves it: the given one, or one with a separator
// and a number.
func (n *Names) Unique(name, separator string) string {
	unique, base := name, n.fold(name)
	for key := base; n.taken[key]; key = n.fold(unique) {
		number := max(n.next[base], 2)
		n.next[base] = number + 1
		unique = name + separator + strconv.Itoa(number)
	}
	n.Reserve(unique)
	return unique
}

func (n *Names) fold(name string) string {
	if n.Fold != nil {
		return n.Fold(name)
	}
	return strings.Map(func(r rune) rune {
		first := r
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			first = min(first, other)
		}
		return first
	}, name)
}
