package client

import (
	"strings"

	"parley/cmd/parley/internal/command"
	"parley/internal/domain"
)

// ingestFlags say how files are read, where that is not to be detected.
type ingestFlags struct {
	Encoding  string   `env:"-" placeholder:"NAME" help:"The encoding: utf-8, utf-16 or windows-1252. Detected by default."`
	Delimiter string   `env:"-" placeholder:"CHARACTER" help:"The character between fields; 'tab' for a tab. Detected by default."`
	HeaderRow *int     `env:"-" min:"0" placeholder:"ROW" help:"The row with the column names, from 1; 0 if there is none. Detected by default."`
	Sheet     string   `env:"-" placeholder:"NAME" help:"The table to read from a file with several, such as a sheet of a workbook."`
	Null      []string `env:"-" sep:"none" placeholder:"TEXT" help:"A spelling of a missing value, besides the usual ones such as NA. Repeatable."`
	Retype    []string `env:"-" sep:"none" placeholder:"COLUMN=TYPE" help:"The type of a column: text, integer, number, decimal(digits,scale), boolean, date, time, timestamp or 'timestamp with time zone'. date:dmy, date:mdy and date:ymd set the order of day, month and year. Repeatable."`
	Union     bool     `env:"-" help:"Allow files with different columns in one dataset."`
}

// optionFlags names the flags of options.
var optionFlags = map[string]string{"headerRow": "header-row", "nullValues": "null", "types": "retype"}

func (f ingestFlags) options(c *command.Checker) domain.IngestOptions {
	options := domain.IngestOptions{
		Encoding: f.Encoding, Delimiter: f.Delimiter, Sheet: f.Sheet, NullValues: f.Null, Union: f.Union, HeaderRow: f.HeaderRow,
	}
	if strings.EqualFold(options.Delimiter, "tab") || options.Delimiter == `\t` {
		options.Delimiter = "\t"
	}
	for _, text := range f.Retype {
		at := strings.LastIndex(text, "=")
		if at < 1 {
			c.Refuse("retype", "must be COLUMN=TYPE, not %q", text)
			continue
		}
		if options.Types == nil {
			options.Types = map[string]string{}
		}
		options.Types[text[:at]] = text[at+1:]
	}
	for _, wrong := range options.Normalize() {
		name, rest := wrong.Field, ""
		if at := strings.IndexAny(name, ".["); at > 0 {
			name, rest = name[:at], strings.Trim(name[at:], ".[]")+" "
		}
		if flag, ok := optionFlags[name]; ok {
			name = flag
		}
		if name == "null" {
			rest = ""
		}
		c.Refuse(name, "%s%s", rest, wrong.Message)
	}
	return options
}
