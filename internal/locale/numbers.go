package locale

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

// Numbers writes numbers with the separators of a locale, in Western digits. The zero value
// writes digits alone.
type Numbers struct {
	decimal, group string
	// last is how many digits the last group of a whole number has, and others are how many
	// those before it have; 0 for no groups.
	last, others int
	// currencyAfter says that the sign of a currency follows the number.
	currencyAfter bool
}

var english = Numbers{decimal: ".", group: ",", last: 3, others: 3}

// Sources of locales, browsers among them, differ in which space and which apostrophe
// separate groups: these are written.
const (
	narrowSpace = "\u202f"
	apostrophe  = "’"
)

// NumbersOf returns the numbers of a locale; English ones for "" and an unknown tag.
func NumbersOf(tag string) Numbers {
	if tag == "" {
		return english
	}
	if tag == "no" || strings.HasPrefix(tag, "no-") {
		tag = "nb" // the library knows Norwegian by its forms
	}
	parsed, err := language.Parse(tag)
	if err != nil {
		return english
	}
	if parsed, err = parsed.SetTypeForKey("nu", "latn"); err != nil {
		return english
	}
	sample := message.NewPrinter(parsed).Sprint(number.Decimal(1234567.5))
	digits := strings.FieldsFunc(sample, func(r rune) bool { return !unicode.IsDigit(r) })
	marks := strings.FieldsFunc(sample, unicode.IsDigit)
	if len(digits) < 2 || len(marks) != len(digits)-1 {
		return english
	}
	numbers := Numbers{decimal: marks[len(marks)-1], currencyAfter: currencyAfter(parsed)}
	if end := len(digits) - 1; end > 2 {
		numbers.group, numbers.last, numbers.others = marks[0], len(digits[end-1]), len(digits[end-2])
	}
	switch {
	case numbers.group == "'":
		numbers.group = apostrophe
	case numbers.group != "" && strings.TrimSpace(numbers.group) == "":
		numbers.group = narrowSpace
	}
	return numbers
}

// currencyAfter reports whether a locale writes the sign of a currency after the number: most
// languages of Europe do, but not all of their regions.
func currencyAfter(tag language.Tag) bool {
	base, _ := tag.Base()
	region, _ := tag.Region()
	switch base.String() {
	case "pt":
		return region.String() != "BR"
	case "es":
		return region.String() == "ES"
	case "de", "fr", "it":
		return !strings.Contains("AT CH LI", region.String())
	}
	return strings.Contains(" bg ca cs da el et fi hr hu is lt lv nb nn pl ro ru sk sl sr sv uk ", " "+base.String()+" ")
}

// Money writes an amount in a currency, with its sign on the side that the locale has. A code, such
// as CHF, stands apart.
func (n Numbers) Money(text, currency string) string {
	text = n.Format(text)
	if n.currencyAfter {
		return text + "\u00a0" + currency
	}
	text, negative := strings.CutPrefix(text, "-")
	if last, _ := utf8.DecodeLastRuneInString(currency); unicode.IsLetter(last) {
		currency += "\u00a0"
	}
	if negative {
		currency = "-" + currency
	}
	return currency + text
}

// NumbersFor returns the numbers of the reader of a context.
func NumbersFor(ctx context.Context) Numbers { return NumbersOf(From(ctx)) }

var plain = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// Format writes a number that has a point for its decimals and no groups. Other texts stay.
func (n Numbers) Format(text string) string {
	if n.decimal == "" || !plain.MatchString(text) {
		return text
	}
	whole, fraction, fractional := strings.Cut(text, ".")
	whole, negative := strings.CutPrefix(whole, "-")
	end := ""
	if fractional {
		end = n.decimal + fraction
	}
	for size := n.last; size > 0 && len(whole) > size; size = n.others {
		at := len(whole) - size
		whole, end = whole[:at], n.group+whole[at:]+end
	}
	if negative {
		whole = "-" + whole
	}
	return whole + end
}

// Ungrouped is Format for numbers that are no quantities, such as years.
func (n Numbers) Ungrouped(text string) string { return n.WithoutGroups().Format(text) }

// WithoutGroups returns numbers whose Format is Ungrouped.
func (n Numbers) WithoutGroups() Numbers { return Numbers{decimal: n.decimal} }

// Int writes a whole number.
func (n Numbers) Int(value int64) string { return n.Format(strconv.FormatInt(value, 10)) }
