package catalog

import (
	"strings"
	"unicode"
)

// DisplayName converts an identifier to words: order_date and orderDate become order date.
func DisplayName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsSpace(r) || r == '_' || unicode.IsControl(r) {
			b.WriteByte(' ')
			continue
		}
		camel := i > 0 && unicode.IsUpper(r) && unicode.IsLower(runes[i-1])
		if camel {
			b.WriteByte(' ')
			if i+1 < len(runes) && unicode.IsLower(runes[i+1]) {
				r = unicode.ToLower(r)
			}
		}
		b.WriteRune(r)
	}
	if text := strings.Join(strings.Fields(b.String()), " "); text != "" {
		return text
	}
	return name
}

// Plural puts the last word of a name into the plural, unless it is plural already or
// the number or month of a part.
func Plural(name string) string {
	lower := strings.ToLower(name)
	end := func(suffixes ...string) bool { return hasAnySuffix(lower, suffixes...) }
	switch stem, part := SplitPart(name); {
	case stem != nil && strings.HasSuffix(lower, part[len(part)-1]):
		return name // orders 2023
	case end("ay", "ey", "oy", "uy"):
		return name + "s"
	case end("y"):
		return name[:len(name)-1] + "ies"
	case end("us", "ss", "x", "ch", "sh"):
		return name + "es"
	case lower == "", end("s", "people", "children", "men", "data", "staff", ")", "%"):
		return name
	}
	return name + "s"
}
