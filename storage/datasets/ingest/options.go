package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// checkOptions refuses options that no source can be read with.
func checkOptions(o domain.IngestOptions) error {
	if !slices.Contains([]string{"", source.EncodingUTF8, source.EncodingUTF16, source.EncodingWindows1252}, o.Encoding) {
		return refuse("the encoding %s is not known; it can be %s, %s or %s", quote(o.Encoding), source.EncodingUTF8, source.EncodingUTF16, source.EncodingWindows1252)
	}
	if len(o.Delimiter) > 1 || strings.ContainsAny(o.Delimiter, "\"\r\n\x00") || o.Delimiter > "~" {
		return refuse("the delimiter %s is not one character that can separate fields", quote(o.Delimiter))
	}
	if o.HeaderRow != nil && *o.HeaderRow < 0 {
		return refuse("the row of the header is counted from 1; 0 says that there is none")
	}
	for column, typ := range o.Types {
		if typ, _ = domain.CutDateOrder(typ); !slices.Contains([]string{typeBoolean, typeBigint, typeDouble, typeVarchar, typeDate, typeTime, typeTimestamp, typeInstant}, typ) && !decimalPattern.MatchString(typ) {
			return refuse("column %s cannot have the type %s", quote(column), quote(typ))
		}
	}
	return nil
}

// misfit says that a cell is not of a type, and what such a cell looks like.
func misfit(typ, order string) string {
	name, example := domain.TypeWord(typ), ""
	if order != "" {
		name += ":" + order
	}
	day := map[string]string{"dmy": "31.12.2024", "mdy": "12/31/2024"}[order]
	day = cmp.Or(day, "2024-12-31")
	switch typ {
	case typeBoolean:
		example = "true, yes or 1"
	case typeBigint:
		example = "1234"
	case typeDate:
		example = day
	case typeTime:
		example = "23:59"
	case typeTimestamp:
		example = day + " 23:59"
	case typeInstant:
		example = "2024-12-31T23:59Z"
	default:
		example = "1234.5"
	}
	return fmt.Sprintf("the cell cannot be read as %s, such as %s; name it as a missing value, or give the column another type", name, example)
}

// wantedType returns the type that an option gives a column, "" without one.
func (r *run) wantedType(column string) string {
	typ, _ := r.wantedDate(column)
	return typ
}

// know adds columns to those that the dataset and the tables so far have.
func (r *run) know(columns []domain.Column) {
	for _, c := range columns {
		if name := domain.FoldColumn(c.Name); r.known[name] == "" && c.Type != typeNull {
			r.known[name] = c.Type
		}
	}
}

// knownType returns the type of a column that the dataset or a table before has, "" without one.
func (r *run) knownType(column string) string { return r.known[domain.FoldColumn(column)] }

// knowsInner reports whether they have columns of the keys of a column's objects.
func (r *run) knowsInner(column string) bool {
	for name := range r.known {
		if strings.HasPrefix(name, domain.FoldColumn(column)+".") {
			return true
		}
	}
	return false
}

// numberType returns the type of a column of numbers that the dataset has, "" without one.
func (r *run) numberType(column string) string {
	for _, c := range r.job.Have {
		if domain.FoldColumn(c.Name) == domain.FoldColumn(column) && isNumber(c.Type) {
			return c.Type
		}
	}
	return ""
}

// yearFirst is the order of dates that start with the year.
const yearFirst = "ymd"

// wantedDate is wantedType with the order of day, month and year, "" without one.
func (r *run) wantedDate(column string) (typ, order string) {
	for name, typ := range r.job.Options.Types {
		if domain.FoldColumn(name) == domain.FoldColumn(column) {
			return domain.CutDateOrder(typ)
		}
	}
	return "", ""
}

// checkTypes sets the types of columns that options give them, and
// refuses those that cannot have them.
func (r *run) checkTypes(tables []*table) error {
	missing := map[string]string{}
	for name := range r.job.Options.Types {
		missing[domain.FoldColumn(name)] = name
	}
	for _, t := range tables {
		for i := range t.columns {
			c := &t.columns[i]
			delete(missing, domain.FoldColumn(c.Name))
			typ := r.wantedType(c.Name)
			if typ == "" || typ == c.Type {
				continue
			}
			if both, ok := unite(typ, c.Type); !ok || both != typ {
				return refuse("%s: column %s holds %s, which cannot be read as %s; leave out the type of the column", t.name, quote(c.Name), describe(c.Type), domain.TypeWord(typ))
			}
			c.Type = typ
		}
	}
	for _, name := range missing {
		var names []string
		for _, c := range tables[0].columns[:min(len(tables[0].columns), source.MaxNamed)] {
			names = append(names, c.Name)
		}
		return refuse("there is no column %s to give a type; %s has %s", quote(source.Excerpt(name)), tables[0].name, strings.Join(names, ", "))
	}
	return nil
}

// checkUnion refuses tables whose columns differ, unless an option allows them.
func (r *run) checkUnion(tables []*table) error {
	if r.job.Options.Union {
		return nil
	}
	first := tables[0]
	for _, t := range tables[1:] {
		for _, pair := range [][2]*table{{first, t}, {t, first}} {
			if names := without(pair[0].columns, pair[1].columns); len(names) > 0 {
				return refuse("%s has a column %s and %s has not; files of different columns are read into one dataset with the option union",
					pair[0].name, quote(source.Excerpt(names[0])), pair[1].name)
			}
		}
	}
	return nil
}

// checkAppended notes which columns of the dataset tables lack, and which they add. It refuses a
// file that has none of them, unless an option allows it.
func (r *run) checkAppended(tables []*table) error {
	have := r.job.Have
	if len(have) == 0 {
		return nil
	}
	for _, t := range tables {
		added, missing := without(t.columns, have), without(have, t.columns)
		if len(added) == len(t.columns) && r.job.Rows == "" && !r.job.Options.Union {
			return refuse("%s has no column of the dataset, which has %s; put it into another dataset, or read it with the option union", t.name, source.ListFirst(missing))
		}
		for _, of := range []struct {
			what  string
			names []string
		}{{"columns added", added}, {"columns missing in this file", missing}} {
			if len(of.names) > 0 {
				t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{Message: of.what + ": " + source.ListFirst(of.names)})
			}
		}
	}
	return nil
}

// without returns the names of columns that are not among others.
func without(columns, others []domain.Column) (names []string) {
	known := map[string]bool{}
	for _, c := range others {
		known[domain.FoldColumn(c.Name)] = true
	}
	for _, c := range columns {
		if !known[domain.FoldColumn(c.Name)] {
			names = append(names, c.Name)
		}
	}
	return names
}

// checkUnits refuses tables whose columns have numbers of different units.
func checkUnits(tables []*table) error {
	type unit struct{ name, table string }
	units := map[string]unit{}
	for _, t := range tables {
		for _, c := range t.report.Columns {
			before, known := units[domain.FoldColumn(c.Name)]
			switch {
			case c.Unit == "":
			case known && before.name != c.Unit:
				return refuse("column %s is in %s in %s and in %s in %s; put them into different datasets, or give the column the type text",
					quote(c.Name), before.name, before.table, c.Unit, t.name)
			default:
				units[domain.FoldColumn(c.Name)] = unit{c.Unit, t.name}
			}
		}
	}
	return nil
}

// checkFit refuses numbers that do not fit the type that an option gives their column, where
// their kinds do not show it: one with a fixed number of digits, a boolean, a long code.
func (r *run) checkFit(ctx context.Context, t *table) error {
	want := make([]string, len(t.columns))
	for i, c := range t.columns {
		want[i] = c.Type
	}
	for i, c := range t.columns {
		wanted := r.wantedType(c.Name)
		precision, scale, isDecimal := decimal(wanted)
		if !isDecimal && wanted != typeBoolean && wanted != typeBigint {
			continue
		}
		want, rounds := slices.Clone(want), "false"
		if isDecimal {
			want[i] = fmt.Sprintf("DECIMAL(38,%d)", 38-precision+scale)
			rounds = fmt.Sprintf("x <> CAST(x AS %s)", wanted)
		}
		from, exprs := t.read(want, false)
		var counted, rounded int64
		query := fmt.Sprintf("SELECT count(x), count(*) FILTER (WHERE %s) FROM (SELECT %s AS x FROM %s)", rounds, exprs[i], from)
		err := r.db.QueryRowContext(ctx, query).Scan(&counted, &rounded)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && strings.Contains(err.Error(), "Conversion Error") {
			return refuse("%s: a number of column %s does not fit %s; give the column another type, such as number or text", t.name, quote(c.Name), domain.TypeWord(c.Type))
		}
		if err != nil {
			return fmt.Errorf("check numbers: %w", err)
		}
		if rounded > 0 {
			t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{Column: c.Name, Message: source.Count(int(rounded), "number") + " rounded to " + domain.TypeWord(wanted)})
		}
	}
	return nil
}

const (
	// maxLines is how many lines of misfits a report names for each column.
	maxLines = 5
	// maxWarnings is how many warnings a report has.
	maxWarnings = 100
)

// reportOf joins the reports of all sources of a job into the report of a
// dataset's columns. What a file has as a whole is that of the first source.
func reportOf(tables []*table, columns []domain.Column) domain.IngestReport {
	report := tables[0].report
	report.Columns, report.Warnings = nil, nil
	var mixed []domain.IngestWarning
	at := make([]map[string]int, len(tables))
	for n, t := range tables {
		at[n] = make(map[string]int, len(t.columns))
		for i, c := range t.columns {
			at[n][domain.FoldColumn(c.Name)] = i
		}
	}
	for _, c := range columns {
		joined := domain.ColumnReport{Name: c.Name, Type: c.Type}
		found := false
		for n, t := range tables {
			i, has := at[n][domain.FoldColumn(c.Name)]
			switch {
			case !has:
				joined.Missing += t.rows
			case i < len(t.report.Columns):
				own := t.report.Columns[i]
				if c.Type == typeVarchar && i < len(t.spelled) {
					own.Missing -= t.spelled[i]
				}
				if joinColumn(&joined, own, found) {
					mixed = append(mixed, domain.IngestWarning{Column: c.Name, Message: fmt.Sprintf("not all files have a unit with the numbers of the column; %s has %s", t.name, cmp.Or(own.Unit, "none"))})
				}
			}
			found = found || has
		}
		if c.Type == typeVarchar && joined.Misfits == 0 {
			mixed = append(mixed, mixedTypes(tables, at, c.Name)...)
		}
		if found {
			report.Columns = append(report.Columns, joined)
		}
	}
	for _, t := range tables {
		for _, w := range t.report.Warnings {
			if len(tables) > 1 {
				w.Message = fmt.Sprintf("%s: %s", t.name, w.Message)
			}
			report.Warnings = append(report.Warnings, w)
		}
	}
	report.Warnings = append(report.Warnings, mixed...)
	report.Warnings = report.Warnings[:min(len(report.Warnings), maxWarnings)]
	return report
}

// mixedTypes warns of a column of text that has not the same type in all tables. At is where they
// have their columns, by folded name.
func mixedTypes(tables []*table, at []map[string]int, column string) []domain.IngestWarning {
	first, name := "", ""
	for n, t := range tables {
		i, has := at[n][domain.FoldColumn(column)]
		switch {
		case !has || t.columns[i].Type == typeNull:
		case first == "":
			first, name = t.columns[i].Type, t.name
		case first != t.columns[i].Type:
			return []domain.IngestWarning{{Column: column, Message: fmt.Sprintf("the column is text: it is %s in %s and %s in %s", domain.TypeWord(first), name, domain.TypeWord(t.columns[i].Type), t.name)}}
		}
	}
	return nil
}

// joinColumn adds the report of one source's column. Repeated says that the
// column was in a source before it: its form is kept if the sources share it. It
// reports whether one of them has a unit and the other none.
func joinColumn(to *domain.ColumnReport, c domain.ColumnReport, repeated bool) (mixed bool) {
	if !repeated {
		to.From, to.Unit = c.From, c.Unit
	}
	if to.From != c.From {
		to.From = ""
	}
	mixed = to.Unit != c.Unit && c.Type != typeNull
	to.Unit = cmp.Or(to.Unit, c.Unit)
	to.Missing += c.Missing
	to.Misfits += c.Misfits
	to.MisfitLines = append(to.MisfitLines, c.MisfitLines[:min(len(c.MisfitLines), maxLines-len(to.MisfitLines))]...)
	return mixed
}
