package rest

import (
	"encoding/json"
	"maps"
	"slices"

	"parley/storage"
)

// ingestOptions reads the optional options of an ingestion. Unknown ones are errors: what
// is left out of them by mistake would be guessed.
func (f fields) ingestOptions() (options storage.IngestOptions) {
	if !f.has("options") {
		return options
	}
	inner := fields{request: f.request, at: f.at + "options."}
	inner.members, _ = decode[map[string]json.RawMessage](f, "options", "an object")
	before := len(f.wrong)
	for _, name := range slices.Sorted(maps.Keys(inner.members)) {
		if inner.has(name) {
			inner.ingestOption(name, &options)
		}
	}
	if len(f.wrong) > before {
		return options
	}
	for _, wrong := range options.Normalize() {
		inner.check(wrong.Field, wrong.Message)
	}
	return options
}

func (f fields) ingestOption(name string, options *storage.IngestOptions) {
	switch name {
	case "encoding":
		options.Encoding = f.text(name, notEmpty(maxKey))
	case "delimiter":
		options.Delimiter = f.text(name, notEmpty(maxKey))
	case "headerRow":
		row, ok := f.integer(name)
		if options.HeaderRow = int(row); ok && row < 1 {
			f.check(name, "must be at least 1")
		}
	case "sheet":
		options.Sheet = f.text(name, notEmpty(maxKey))
	case "nullValues":
		options.NullValues, _ = decode[[]string](f, name, "a list of strings")
	case "types":
		options.Types = f.texts(name)
	case "union":
		options.Union, _ = decode[bool](f, name, "true or false")
	default:
		f.check(name, "is not an option: there are encoding, delimiter, headerRow, sheet, nullValues, types and union")
	}
}
