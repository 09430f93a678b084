package client

import (
	"encoding/json"
	"fmt"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// outputSettings say how a command prints a list.
type outputSettings struct {
	Format string         `env:"-" short:"f" default:"table" enum:"table,csv,json,ndjson,markdown" placeholder:"FORMAT" help:"Print a table, csv, json, ndjson or markdown (${default})."`
	JSON   command.Toggle `env:"-" name:"json" help:"Short for --format json."`
}

func (o outputSettings) read(c *command.Checker) console.Format {
	if c.Bool("json", o.JSON) {
		return console.FormatJSON
	}
	return console.Format(o.Format)
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

// write prints the rows; a table says below it how many there are.
func (a queryAnswer) write(env command.Env, format console.Format) error {
	if err := console.WriteRows(env.Stdout, format, a.Data, a.Metadata.Columns); err != nil {
		return err
	}
	switch {
	case a.Metadata.TotalRows > 0:
		fmt.Fprintf(env.Stderr, "(%d of %s)\n", len(a.Data), plural(a.Metadata.TotalRows, "row"))
	case a.Metadata.Truncated:
		fmt.Fprintf(env.Stderr, "(the first %s; there are more)\n", plural(len(a.Data), "row"))
	case format == console.FormatTable:
		fmt.Fprintf(env.Stderr, "(%s)\n", plural(len(a.Data), "row"))
	}
	return nil
}
