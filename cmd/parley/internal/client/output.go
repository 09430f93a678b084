package client

import (
	"encoding/json"
	"fmt"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// outputSettings say how a command prints a list.
type outputSettings struct {
	Format string `env:"-" short:"f" default:"table" enum:"table,csv,json,ndjson,markdown" placeholder:"FORMAT" help:"Print a table, csv, json, ndjson or markdown (${default})."`
	JSON   bool   `env:"-" name:"json" help:"Short for --format json."`
}

func (o outputSettings) format() console.Format {
	if o.JSON {
		return console.FormatJSON
	}
	return console.Format(o.Format)
}

// rowSettings say how a command prints rows.
type rowSettings struct {
	outputSettings
	Internal bool `env:"-" help:"Also print the keys of rows that are no data, such as __metadata, which has the score."`
}

func (s rowSettings) rowFormat() rowFormat {
	return rowFormat{s.format(), s.Internal}
}

// rowFormat is a format of rows, with the keys that are no data or without.
type rowFormat struct {
	console.Format
	internal bool
}

// onScreen reports whether people read the rows: they are a table on a terminal.
func (f rowFormat) onScreen(env command.Env) bool {
	return f.Format == console.FormatTable && console.StyleOf(env.Stdout).Terminal()
}

// isJSON reports whether a format is for programs that read JSON.
func isJSON(format console.Format) bool {
	return format == console.FormatJSON || format == console.FormatNDJSON
}

// writeList prints a list: as JSON what it holds, otherwise its table.
func writeList[T any](env command.Env, format console.Format, list []T, table console.Table) error {
	switch format {
	case console.FormatJSON:
		return writeJSON(env.Stdout, list)
	case console.FormatNDJSON:
		for _, one := range list {
			if err := writeJSON(env.Stdout, one); err != nil {
				return err
			}
		}
		return nil
	default:
		return table.WriteAs(env.Stdout, format, console.StyleOf(env.Stdout))
	}
}

// queryAnswer is the answer of the server to a query.
type queryAnswer struct {
	Data     []json.RawMessage
	Metadata struct {
		Truncated bool
		TotalRows int
		// Columns are those of an answer without rows.
		Columns []string
	}
}

// write prints the rows; a table says below it how many there are. Rows that are missing are an
// error, except on a terminal.
func (a queryAnswer) write(env command.Env, as rowFormat) error {
	result := console.Result{Rows: console.List(a.Data), Columns: a.Metadata.Columns, Internal: as.internal}
	if err := result.WriteAs(env.Stdout, as.Format); err != nil {
		return err
	}
	switch {
	case a.Metadata.Truncated && !as.onScreen(env):
		return fmt.Errorf("only the first %s were printed: the result is larger than the server sends at once", plural(len(a.Data), "row"))
	case a.Metadata.TotalRows > 0:
		fmt.Fprintf(env.Stderr, "(%d of %s)\n", len(a.Data), plural(a.Metadata.TotalRows, "row"))
	case a.Metadata.Truncated:
		fmt.Fprintf(env.Stderr, "(the first %s; there are more)\n", plural(len(a.Data), "row"))
	case as.Format == console.FormatTable:
		fmt.Fprintf(env.Stderr, "(%s)\n", plural(len(a.Data), "row"))
	}
	return nil
}
