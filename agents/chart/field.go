package chart

import (
	"regexp"
	"strings"
)

// plain are the names that stand for themselves in every place of a specification. Others
// are renamed first, so that no text of the data becomes a part of an expression.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// inherited are the names of members that all JavaScript objects have.
var inherited = set("constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf")

var pathEscapes = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `[`, `\[`, `]`, `\]`, `'`, `\'`, `"`, `\"`)

// name returns a field a name that no column has.
func (d *drawing) name(wish string) string {
	for d.taken[wish] {
		wish += "_"
	}
	d.taken[wish] = true
	return wish
}

// reference returns a field with the values of a column as they are in the rows.
func (d *drawing) reference(c *column) string {
	if plain.MatchString(c.Name) && !inherited[c.Name] {
		return c.Name
	}
	return once(d.renamed, c, func() string {
		name := d.name("field")
		d.add(object{"fold": []any{pathEscapes.Replace(c.Name)}, "as": []any{d.name("key"), name}})
		return name
	})
}

// field returns a field with the values of a column as they are drawn.
func (d *drawing) field(c *column) string {
	return once(d.fields, c, func() string {
		field := d.reference(c)
		switch {
		case c.role == measure && c.written:
			return d.calculate("number", "toNumber(DATUM)", field)
		case c.role != measure && c.nulls > 0:
			return d.calculate("label", "isValid(DATUM) ? DATUM : '(none)'", field)
		}
		return field
	})
}

// once remembers the field that was made for a column.
func once(fields map[*column]string, c *column, make func() string) string {
	if fields[c] == "" {
		fields[c] = make()
	}
	return fields[c]
}

// times returns the fields of a period: its time, and its label. Those that are no times have
// a label only.
func (d *drawing) times(c *column) (at, label string) {
	field := d.reference(c)
	if c.nulls > 0 {
		d.add(object{"filter": "isValid(datum['" + field + "'])"})
	}
	if c.grain == "" {
		return field, field
	}
	read := "toDate(toString(DATUM))"
	if c.hasNoZone() {
		// It is UTC for readers in all zones.
		read = "toDate(DATUM + 'Z')"
	}
	at = d.calculate("time", read, field)
	return at, d.calculate("label", "utcFormat(DATUM, '"+timeFormats[c.grain]+"')", at)
}

// calculate adds a field that is computed from another, DATUM in the expression.
func (d *drawing) calculate(wish, expression, field string) string {
	name := d.name(wish)
	d.add(object{"calculate": strings.ReplaceAll(expression, "DATUM", "datum['"+field+"']"), "as": name})
	return name
}
