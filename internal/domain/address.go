package domain

import (
	"regexp"
	"strings"
)

// Address is a namespace that the text of a question names.
type Address struct {
	Namespace NamespaceRef
	// Name is what the text calls it, and Rest the text without it.
	Name, Rest string
	// Leading says that the text begins with it and a colon, so that it can be nothing else.
	Leading bool
}

var (
	leadingAddress  = regexp.MustCompile(`(?is)^\s*in\s+(?:(?:the\s+)?namespace\s+)?([^\s:]+)\s*:\s*(.*\S)\s*$`)
	trailingAddress = regexp.MustCompile(`(?is)^\s*(.*\S)\s+in\s+(?:(?:the\s+)?namespace\s+)?(\S+?)\s*([?.!]*)\s*$`)
)

// FindAddress returns the namespace of those in readable that a question names, as in "in shop:
// how many orders are there?" or "how many orders are there in anna/shop?". A name without an owner is the
// caller's own namespace, or the only one of others with this name.
func FindAddress(caller Caller, text string, readable []NamespaceRef) (Address, bool) {
	var found Address
	if parts := leadingAddress.FindStringSubmatch(text); parts != nil {
		found = Address{Name: parts[1], Rest: parts[2], Leading: true}
	} else if parts := trailingAddress.FindStringSubmatch(text); parts != nil {
		found = Address{Name: parts[2], Rest: parts[1] + parts[3]}
	} else {
		return found, false
	}
	owner, name, both := strings.Cut(found.Name, "/")
	if !both {
		owner, name = "", owner
	}
	var named []NamespaceRef
	for _, ref := range readable {
		switch {
		case !strings.EqualFold(ref.Name, name) || both && caller.Resolve(owner) != ref.Owner:
		case both || ref.Owner == caller.Username:
			found.Namespace = ref
			return found, true
		default:
			named = append(named, ref)
		}
	}
	if len(named) != 1 {
		return found, false
	}
	found.Namespace = named[0]
	return found, true
}
