package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"parley/internal/domain"
	"parley/internal/jsonscan"
)

// maxWrongKeys limits the invalid keys of one response.
const maxWrongKeys = 20

func (f fields) rows(name string) []json.RawMessage {
	rows, _ := decode[[]json.RawMessage](f, name, "a list of objects")
	for i, row := range rows {
		if row[0] != '{' {
			f.check(fmt.Sprintf("%s[%d]", name, i), "must be an object")
		}
	}
	return rows
}

// checkKeys reports the keys of rows that cannot be column names, each with its first row.
func (f fields) checkKeys(name string, rows []json.RawMessage) {
	k := rowKeys{known: map[string]int{}, folded: map[string]string{}, refused: map[string]bool{}}
	for i, row := range rows {
		if row[0] != '{' {
			return
		}
		at := fmt.Sprintf("%s[%d]", name, i)
		for member := range jsonscan.Members(row) {
			key := string(member)
			switch problem := k.check(key, i+1); {
			case problem == "":
			case key == "":
				f.check(at, "must not have an empty key")
			default:
				// Quoted, so that NUL is visible.
				f.check(at+"."+strings.ReplaceAll(key, "\x00", `\0`), problem)
			}
			if len(k.refused) == maxWrongKeys {
				return
			}
			if len(k.known) > domain.MaxColumns {
				f.check(name, fmt.Sprintf("must have at most %d different keys", domain.MaxColumns))
				return
			}
		}
	}
	if len(rows) > 0 && len(k.known)+len(k.refused) == 0 {
		f.check(name, "must have a key in one of its rows")
	}
}

// rowKeys are the keys of rows.
type rowKeys struct {
	known   map[string]int    // the row, from 1, that had a key last
	folded  map[string]string // as columns are compared
	refused map[string]bool
}

// check returns the error of a key, "" when it is valid or was refused before.
func (k rowKeys) check(key string, row int) string {
	problem := ""
	switch last, known := k.known[key]; {
	case k.refused[key]:
		return ""
	case known && last == row:
		problem = "must not be there twice"
	case known:
		k.known[key] = row
		return ""
	default:
		problem = domain.CheckColumnName(key)
		if other, taken := k.folded[domain.FoldColumn(key)]; problem == "" && taken {
			problem = fmt.Sprintf("must not differ from %q in case alone", cut(other))
		}
	}
	if problem != "" {
		k.refused[key] = true
		return problem
	}
	k.known[key], k.folded[domain.FoldColumn(key)] = row, key
	return ""
}

// wrongRows attributes the error of the datasets to the field of the rows.
func wrongRows(name string, err error) error {
	var known *domain.Error
	if !errors.As(err, &known) || !errors.Is(known, domain.ErrInvalid) || len(known.Fields) > 0 {
		return err
	}
	return domain.Invalid(domain.FieldError{Field: name, Message: "cannot be stored: " + known.Message})
}
