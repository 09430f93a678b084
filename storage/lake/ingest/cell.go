package ingest

import (
	"bytes"
	"strings"
)

// form says how a cell of a kind is written: which unit stands beside a number
// (an index of units), or the parts of a date (dateForm). 0 is the plain form.
type form uint8

// formPadded is the form of a cell of paddedKinds with blanks around it: DuckDB
// does not read it by itself.
const formPadded form = 1

var paddedKinds = setOf(kindBool, kindDate, kindTime, kindTimestamp, kindInstant)

// maxLoose is how many bytes a cell may have that is not text.
const maxLoose = 48

// missingSpellings are the spellings of a missing value, in lower case.
var missingSpellings = []string{"na", "n/a", "#n/a", "n.a.", "n.a", "<na>", "-", "--", "–", "—", "null", "#null!", "(null)", `\n`, "none"}

// classifyCell gives the kind and form of a cell that is not empty. It adds what
// people write to what classify detects. What it classifies as other than text,
// the SQL of a reading (reading.go) reads as such.
func classifyCell(b []byte) (kind, form) {
	if k := classify(b); k != kindText {
		if (b[0] == ' ' || b[len(b)-1] == ' ') && paddedKinds.meets(k.set()) {
			return k, formPadded
		}
		return k, 0
	}
	if len(b) > maxLoose {
		return kindText, 0
	}
	if b = bytes.Trim(b, " "); len(b) == 0 {
		return kindText, 0
	}
	if b[0] == '0' && countDigits(b) == len(b) {
		return kindCode, 0
	}
	if k := classifyWord(b); k != kindText {
		return k, 0
	}
	if isDigit(b[0]) {
		if k, f := classifyYearLast(b); k != kindText {
			return k, f
		}
	}
	if k, f := classifyAmount(b); k != kindText {
		return k, f
	}
	return classifyNamedMonth(b)
}

// classifyWord detects missing values, and words for true and false.
func classifyWord(b []byte) kind {
	if len(b) > 6 {
		return kindText
	}
	switch word := strings.ToLower(string(b)); word {
	case "yes", "no":
		return kindYesNo
	case "y":
		return kindY
	case "n":
		return kindN
	case "t":
		return kindT
	case "f":
		return kindF
	default:
		for _, missing := range missingSpellings {
			if word == missing {
				return kindMissing
			}
		}
	}
	return kindText
}
