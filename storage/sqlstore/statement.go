package sqlstore

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"
	"github.com/jmoiron/sqlx/reflectx"

	"parley/internal/domain"
)

// statement is SQL whose parameters have names, such as :run. What is built from
// fragments is one, so that no fragment knows the parameters of another. They are
// package variables: the text is parsed once, when it is first used, since the many
// processes that use none should start quickly.
type statement struct {
	// parsed gives the text, with the parameters $1, $2, … that both databases read, and
	// which name each one has.
	parsed func() (text string, names []string)
}

// parameter matches a name, and a cast so that it is not taken for one.
var parameter = regexp.MustCompile(`::?[a-z_]+`)

func parse(text string) *statement {
	return &statement{sync.OnceValues(func() (string, []string) { return numberParameters(text) })}
}

// numberParameters replaces the names of parameters by numbers.
func numberParameters(text string) (numbered string, names []string) {
	numbered = parameter.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "::") {
			return match
		}
		name := match[1:]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		return "$" + strconv.Itoa(slices.Index(names, name)+1)
	})
	return numbered, names
}

// args are the values of a statement's parameters, by name.
type args map[string]any

// by adds the caller, as the fragments in access.go name it.
func by(caller domain.Caller, a args) args {
	if a == nil {
		a = args{}
	}
	a["caller"], a["restriction"] = caller.Username, caller.Restriction
	return a
}

// inNamespace returns the parameters of namedNamespace, for a caller.
func inNamespace(caller domain.Caller, ref domain.NamespaceRef) args {
	return by(caller, args{"owner": ref.Owner, "namespace": ref.Name})
}

// ofDataset returns the parameters of namedDataset, for a caller.
func ofDataset(caller domain.Caller, ref domain.DatasetRef) args {
	return by(caller, args{"owner": ref.Owner, "namespace": ref.Namespace, "dataset": ref.Name})
}

// bind returns the text, and the values of its parameters in their order.
func (st *statement) bind(a args) (text string, values []any, err error) {
	text, names := st.parsed()
	values = make([]any, len(names))
	for i, name := range names {
		value, ok := a[name]
		if !ok {
			return "", nil, fmt.Errorf("no value for the parameter :%s", name)
		}
		values[i] = value
	}
	return text, values, nil
}

// get reads one row; sql.ErrNoRows when there is none.
func (st *statement) get(ctx context.Context, q queryer, dest any, a args) error {
	text, values, err := st.bind(a)
	if err != nil {
		return err
	}
	return q.GetContext(ctx, dest, text, values...)
}

func (st *statement) list(ctx context.Context, q queryer, dest any, a args) error {
	text, values, err := st.bind(a)
	if err != nil {
		return err
	}
	return q.SelectContext(ctx, dest, text, values...)
}

func (st *statement) exec(ctx context.Context, tx *transaction, a args) error {
	text, values, err := st.bind(a)
	if err == nil {
		_, err = exec(ctx, tx, text, values...)
	}
	return err
}

// execOne changes a row; ErrNotFound when there is none.
func (st *statement) execOne(ctx context.Context, tx *transaction, a args) error {
	text, values, err := st.bind(a)
	if err != nil {
		return err
	}
	return execOne(ctx, tx, text, values...)
}

// mapper names the column of a field: RunID has run_id.
var mapper = reflectx.NewMapperFunc("db", func(field string) string {
	return strings.ToLower(wordEnd.ReplaceAllString(field, "${1}_$2"))
})

var wordEnd = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// each converts rows.
func each[Row, T any](rows []Row, convert func(Row) T) []T {
	all := make([]T, len(rows))
	for i, row := range rows {
		all[i] = convert(row)
	}
	return all
}

// selectIn reads all rows of a query with lists, such as IN (:runs). Its text depends on
// how long they are, and none is empty.
func selectIn(ctx context.Context, q queryer, dest any, query string, a args) error {
	text, values, err := expand(query, a)
	if err != nil {
		return err
	}
	return q.SelectContext(ctx, dest, text, values...)
}

// getIn is selectIn for one row.
func getIn(ctx context.Context, q queryer, dest any, query string, a args) error {
	text, values, err := expand(query, a)
	if err != nil {
		return err
	}
	return q.GetContext(ctx, dest, text, values...)
}

// listLength is how many values the lists of frequent reads have, so that their text is
// always the same.
const listLength = 100

// lists returns the values in lists of that length; the last one is filled up with "".
func lists(values []string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for some := range slices.Chunk(values, listLength) {
			if !yield(append(slices.Clone(some), make([]string, listLength-len(some))...)) {
				return
			}
		}
	}
}

// missing returns those of some values, sorted, that a query with IN (:values) does not find.
func (s *Store) missing(ctx context.Context, query string, values []string) ([]string, error) {
	found := map[string]bool{}
	for list := range lists(values) {
		var some []string
		if err := selectIn(ctx, s, &some, query, args{"values": list}); err != nil {
			return nil, wrap("look for values", err)
		}
		for _, value := range some {
			found[value] = true
		}
	}
	rest := slices.DeleteFunc(slices.Clone(values), func(value string) bool { return found[value] })
	slices.Sort(rest)
	return slices.Compact(rest), nil
}

// execIn is selectIn for a change.
func execIn(ctx context.Context, tx *transaction, query string, a args) error {
	text, values, err := expand(query, a)
	if err == nil {
		_, err = tx.ExecContext(ctx, text, values...)
	}
	return err
}

func expand(query string, a args) (text string, values []any, err error) {
	text, values, err = sqlx.Named(query, map[string]any(a))
	if err == nil {
		text, values, err = sqlx.In(text, values...)
	}
	return sqlx.Rebind(sqlx.DOLLAR, text), values, err
}

// jsonText is a value in a column of JSON, where NULL and the empty text are the zero value.
type jsonText[T any] struct{ value T }

// Scan implements sql.Scanner.
func (j *jsonText[T]) Scan(column any) error {
	var text []byte
	switch column := column.(type) {
	case nil:
	case string:
		text = []byte(column)
	case []byte:
		text = column
	default:
		return fmt.Errorf("read JSON of a column: it is a %T", column)
	}
	j.value = *new(T)
	if len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, &j.value)
}

// Value implements driver.Valuer.
func (j jsonText[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(j.value)
	if err != nil {
		return nil, fmt.Errorf("write JSON of a column: %w", err)
	}
	return string(text), nil
}
