package domain

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"
)

// NewID returns a new id. Ids increase with the time, so that their order is that of creation.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// Self stands for the acting user in place of a username, so that it cannot be a username.
const Self = "self"

const (
	maxName     = 128
	maxUsername = 256
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// CheckName returns what is wrong with the name of a namespace or dataset, ""
// when it is right.
func CheckName(name string) string {
	if len(name) == 0 || len(name) > maxName || !namePattern.MatchString(name) {
		return fmt.Sprintf("must be 1 to %d letters (A to Z), digits, '_', '-' or '.', the first a letter, digit or '_'", maxName)
	}
	return ""
}

var (
	// packing is what names of packed files end in.
	packing    = regexp.MustCompile(`(?i)\.(gz|gzip|zip)$`)
	notInNames = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)
)

// maxCleanName leaves room for the name of a table behind that of its file.
const maxCleanName = 100

// DatasetName returns the name of the dataset for a file.
func DatasetName(filename string) string {
	filename = packing.ReplaceAllString(filename, "")
	return CleanName(strings.TrimSuffix(filename, path.Ext(filename)))
}

// CleanName makes a name of a text. Letters with marks lose these. If it loses letters of other
// scripts, a hash of the text follows, so that different texts get different names.
func CleanName(text string) string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.M, r) {
			return -1
		}
		return r
	}, norm.NFKD.String(text))
	name := strings.Trim(notInNames.ReplaceAllString(plain, "_"), "_.-")
	name = name[:min(len(name), maxCleanName)]
	if name != "" && !strings.ContainsFunc(plain, isForeign) || text == "" {
		return cmp.Or(name, "data")
	}
	hash := fnv.New32a()
	hash.Write([]byte(norm.NFC.String(text)))
	return fmt.Sprintf("%s_%08x", cmp.Or(name[:min(len(name), maxCleanName-9)], "data"), hash.Sum32())
}

// isForeign reports whether a character is a letter or a digit of another script than Latin.
func isForeign(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.L, unicode.N) && !unicode.Is(unicode.Latin, r)
}

// TextPart is the name of the text of a document, beside its tables.
const TextPart = "text"

// TableName returns the name of the dataset for one table of a file. The table's name, which can
// end in a hash, stays whole. The text of a document has the name of the file.
func TableName(dataset, table string) string {
	if table == TextPart {
		return dataset
	}
	name := "_" + CleanName(table)
	return dataset[:min(len(dataset), maxName-len(name))] + name
}

// UniqueName returns a dataset name that is not taken: this one, or this one with a number.
// To taken, names that differ in case only are the same.
func UniqueName(name string, taken func(string) bool) string {
	unique := name
	for n := 2; taken(unique); n++ {
		unique = fmt.Sprint(name[:min(len(name), maxCleanName)], "_", n)
	}
	return unique
}

// NormalizeUsername returns the form in which usernames are kept and compared: lower
// case, in Unicode's normal form C. The few letters beyond ASCII whose lower case
// is ASCII stay as they are, so that nobody passes for somebody else. A name that
// CheckUsername refuses may stay as it is.
func NormalizeUsername(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, composesToASCII) {
		return name
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if lower := unicode.ToLower(r); r < utf8.RuneSelf || lower >= utf8.RuneSelf {
			return lower
		}
		return r
	}, norm.NFC.String(name)))
}

// composesToASCII reports whether a character beyond ASCII has an ASCII one as its
// normal form: the Kelvin sign and two others.
func composesToASCII(r rune) bool {
	return r >= utf8.RuneSelf && norm.NFC.String(string(r))[0] < utf8.RuneSelf
}

// CheckUsername returns what is wrong with a username in its normal form, "" when
// it is right. Which users exist is known to the identity provider alone.
func CheckUsername(name string) string {
	switch {
	case name == Self:
		return "must not be 'self', which stands for the acting user"
	case name == ".", name == "..":
		return "must not be '.' or '..', which no address can have"
	case strings.HasPrefix(name, GroupPrefix):
		return "must not begin with 'group:', which stands for a group of users"
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' }):
		return "must not hold blanks, control characters or '/'"
	}
	return checkNameText(name)
}

// GroupPrefix begins the name of a group where a user can be named, as in group:sales.
const GroupPrefix = "group:"

// CheckGrantee is CheckUsername for a user or a group. Identity providers have groups with blanks
// and slashes in their names.
func CheckGrantee(name string) string {
	group, isGroup := strings.CutPrefix(name, GroupPrefix)
	switch {
	case !isGroup:
		return CheckUsername(name)
	case strings.TrimSpace(group) != group, strings.ContainsFunc(group, unicode.IsControl):
		return "must not hold control characters, nor blanks at its ends"
	}
	return checkNameText(group)
}

// checkNameText returns what is wrong with the characters of a name.
func checkNameText(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case !utf8.ValidString(name), strings.ContainsRune(name, utf8.RuneError):
		return "must be UTF-8"
	case utf8.RuneCountInString(name) > maxUsername:
		return fmt.Sprintf("must be at most %d characters", maxUsername)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, invisible...) }):
		return "must not hold invisible characters"
	case !norm.NFC.IsNormalString(name):
		return "must be in Unicode normal form C"
	}
	return ""
}

// invisible are the characters that names could differ by without looking
// different, or that change how what follows looks.
var invisible = []*unicode.RangeTable{unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// CheckText returns what is wrong with free text of at most limit characters,
// "" when it is right. Characters are Unicode code points.
func CheckText(text string, limit int) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.ContainsRune(text, 0):
		return "must not hold the character NUL"
	case utf8.RuneCountInString(text) > limit:
		return fmt.Sprintf("must be at most %d characters", limit)
	}
	return ""
}

// Truncate keeps the first limit bytes of a text, cut between characters, and shows
// with … that there was more.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
