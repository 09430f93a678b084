package dialog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/catalog"
)

// Limits of a description. It should be short, and show no more of people's data than
// necessary.
const (
	maxDescribedNames    = 12
	maxOneOf             = 5
	maxDescribedExamples = 3
	maxDescribedLength   = 40
)

// Describe describes the fields of a sample. It keeps existing descriptions.
func Describe(task llm.DescribeTask) (llm.Description, error) {
	if len(task.Fields) > llm.MaxFields {
		return llm.Description{}, fmt.Errorf("describe a dataset: there are more than %d fields", llm.MaxFields)
	}
	fields := slices.Clone(task.Fields)
	if len(fields) == 0 {
		fields = llm.FieldsOf(task.Sample, nil)
	}
	rows := make([]map[string]json.RawMessage, 0, len(task.Sample))
	for _, text := range task.Sample {
		var row map[string]json.RawMessage
		if json.Unmarshal(text, &row) == nil {
			rows = append(rows, row)
		}
	}
	seen := make([]*fieldFacts, len(fields))
	for i, field := range fields {
		seen[i] = gatherFacts(field.Name, rows)
		if strings.TrimSpace(field.Description) == "" {
			fields[i].Description = seen[i].sentence()
		}
	}
	text := strings.TrimSpace(task.Description)
	if text == "" {
		text = describeRows(seen, len(rows))
	}
	return llm.Description{Text: text, Fields: fields}, nil
}

// describeRows describes the dataset as a whole.
func describeRows(all []*fieldFacts, rows int) string {
	byName := map[string]*fieldFacts{}
	names := make([]string, len(all))
	for i, f := range all {
		names[i], byName[f.name] = shortValue(f.name), f
	}
	if documents := byName["document"]; documents != nil && byName["passage"] != nil && byName["text"] != nil {
		return fmt.Sprintf("Passages of text: %s of %s in the sample%s.", countOf(rows, "passage"), countOf(len(documents.values), "document"), documents.suchAs())
	}
	var about []string
	for _, f := range all {
		if words := f.summary(); words != "" && len(about) < maxDescribedNames {
			about = append(about, words)
		}
	}
	text := fmt.Sprintf("Rows with %s: %s.", countOf(len(all), "field"), enumerateFirst(names, maxDescribedNames))
	if len(about) > 0 {
		text += fmt.Sprintf(" In a sample of %s: %s.", countOf(rows, "row"), strings.Join(about, "; "))
	}
	return text
}

// valueForm is the common form of the values of a field.
type valueForm int

const (
	noForm valueForm = iota // no values
	wholeForm
	numberForm
	booleanForm
	dateForm
	timestampForm
	textForm
	listForm
	objectForm
	mixedForm
)

var formNames = map[valueForm]string{
	wholeForm: "A whole number", numberForm: "A number", booleanForm: "True or false", dateForm: "A date", timestampForm: "A date and time",
	textForm: "Text", listForm: "A list", objectForm: "An object", mixedForm: "Values of several kinds",
}

// fieldFacts has the statistics of a field in a sample.
type fieldFacts struct {
	name    string
	form    valueForm
	present int
	missing int
	// values are the distinct values, the most frequent first; times counts each.
	values []string
	times  map[string]int
	// least and most are the minimum and maximum of numbers, dates and timestamps.
	least, most string
}

// gatherFacts computes the statistics of a field.
func gatherFacts(name string, rows []map[string]json.RawMessage) *fieldFacts {
	f := &fieldFacts{name: name, times: map[string]int{}}
	for _, row := range rows {
		value, there := row[name]
		if !there || string(value) == "null" {
			f.missing++
			continue
		}
		found, text := formOf(value)
		if strings.TrimSpace(text) == "" {
			f.missing++
			continue
		}
		switch {
		case f.form == noForm, f.form == wholeForm && found == numberForm:
			f.form = found
		case f.form == numberForm && found == wholeForm, f.form == found:
		case isTextForm(f.form) && isTextForm(found):
			f.form = textForm
		default:
			f.form = mixedForm
		}
		f.present++
		if f.times[text]++; f.times[text] == 1 {
			f.values = append(f.values, text)
		}
	}
	slices.SortStableFunc(f.values, func(a, b string) int { return f.times[b] - f.times[a] })
	switch f.form {
	case wholeForm, numberForm:
		f.least, f.most = slices.MinFunc(f.values, compareNumbers), slices.MaxFunc(f.values, compareNumbers)
	case dateForm, timestampForm:
		f.least, f.most = slices.Min(f.values), slices.Max(f.values)
	}
	return f
}

func isTextForm(f valueForm) bool { return f == textForm || f == dateForm || f == timestampForm }

// formOf returns the form of a value, and the value as text.
func formOf(value json.RawMessage) (valueForm, string) {
	switch value[0] {
	case '{':
		return objectForm, string(value)
	case '[':
		return listForm, string(value)
	case 't', 'f':
		return booleanForm, string(value)
	case '"':
		var text string
		_ = json.Unmarshal(value, &text) // it is JSON
		if _, err := time.Parse(time.DateOnly, text); err == nil {
			return dateForm, text
		}
		for _, layout := range []string{"2006-01-02T15:04:05Z", "2006-01-02 15:04:05"} { // those that sort as they stand
			if _, err := time.Parse(layout, text); err == nil && len(text) == len(layout) {
				return timestampForm, text
			}
		}
		return textForm, text
	}
	if bytes.ContainsAny(value, ".eE") {
		return numberForm, string(value)
	}
	return wholeForm, string(value)
}

// compareNumbers compares JSON numbers; integers that are equal as float64, by their
// digits.
func compareNumbers(a, b string) int {
	x, _ := strconv.ParseFloat(a, 64) // what is out of range is infinite
	y, _ := strconv.ParseFloat(b, 64)
	if c := cmp.Compare(x, y); c != 0 || strings.ContainsAny(a+b, ".eE") {
		return c
	}
	c := cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	if x < 0 {
		return -c
	}
	return c
}

// sentence describes a field in a sentence or two.
func (f *fieldFacts) sentence() string {
	if f.present == 0 {
		return "Empty in the sample."
	}
	text := formNames[f.form]
	switch {
	case f.least != f.most:
		text += fmt.Sprintf(" from %s to %s", shortValue(f.least), shortValue(f.most))
	case f.least != "":
		text += ", always " + shortValue(f.least)
	case f.form == textForm && len(f.values) == 1:
		text += ", always " + shortValue(f.values[0])
	case f.form == textForm && f.fewValues():
		text += ", one of " + f.examples(maxOneOf)
	case f.form == textForm && f.unique():
		text += f.suchAs()
	case f.form == textForm:
		text += fmt.Sprintf(": %d different values%s", len(f.values), f.suchAs())
	}
	if f.unique() {
		text += "; different in every row"
	}
	if f.missing > 0 {
		text += fmt.Sprintf("; missing in %d of %s", f.missing, countOf(f.present+f.missing, "row"))
	}
	return text + ", as far as the sample shows."
}

// summary describes a field for the description of the dataset; "" for nothing of interest.
func (f *fieldFacts) summary() string {
	switch {
	case f.least != f.most:
		return fmt.Sprintf("%s from %s to %s", f.name, shortValue(f.least), shortValue(f.most))
	case f.form == textForm && len(f.values) == 1 && f.present > 1:
		return fmt.Sprintf("%s always %s", f.name, shortValue(f.values[0]))
	case f.form == textForm && f.fewValues():
		return fmt.Sprintf("%s one of %s", f.name, f.examples(maxOneOf))
	case f.form == textForm && len(f.values) > 1 && !f.long():
		return fmt.Sprintf("%d different values of %s%s", len(f.values), f.name, f.suchAs())
	}
	return ""
}

// unique reports whether all of at least two rows have different values.
func (f *fieldFacts) unique() bool {
	return f.present > 1 && len(f.values) == f.present && f.missing == 0 && f.form != objectForm && f.form != listForm
}

// fewValues reports whether a few values are repeated.
func (f *fieldFacts) fewValues() bool {
	return len(f.values) > 1 && len(f.values) <= maxOneOf && len(f.values) < f.present && !f.long()
}

// long reports whether values are too long to be shown whole.
func (f *fieldFacts) long() bool {
	return slices.ContainsFunc(f.values, func(text string) bool { return len([]rune(text)) > maxDescribedLength })
}

// suchAs names a few values, where they can be shown.
func (f *fieldFacts) suchAs() string {
	if f.long() {
		return ""
	}
	return " such as " + f.examples(maxDescribedExamples)
}

func (f *fieldFacts) examples(most int) string {
	shown := make([]string, min(most, len(f.values)))
	for i := range shown {
		shown[i] = shortValue(f.values[i])
	}
	return enumerateFirst(shown, most)
}

// enumerateFirst joins the first words with commas and counts the rest.
func enumerateFirst(words []string, most int) string {
	if len(words) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	}
	return enumerate(words)
}

// shortValue shortens a value to one line of limited length.
func shortValue(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > maxDescribedLength {
		text = string(letters[:maxDescribedLength-1]) + "…"
	}
	return text
}

func countOf(n int, what string) string { return counted(locale.Numbers{}, n, what) }

// counted counts things in words.
func counted(numbers locale.Numbers, n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return numbers.Int(int64(n)) + " " + catalog.Plural(what)
}
