package chart

import (
	"fmt"
	"regexp"
	"strings"

	"parley/internal/locale"
)

// schema is the version of Vega-Lite that specifications are written for.
const schema = "https://vega.github.io/schema/vega-lite/v6.json"

// base returns what a chart has whichever measure it draws.
func (s *shape) base() object {
	mark := object{"type": "bar"}
	switch s.kind {
	case lines:
		mark = object{"type": "line", "point": s.main.distinct <= 60}
	case pie:
		mark = object{"type": "arc"}
	case points:
		mark = object{"type": "point", "filled": true, "opacity": 0.7}
	}
	return object{"$schema": schema, "data": object{"name": "rows"}, "mark": mark,
		"width": "container", "autosize": object{"type": "fit-x", "contains": "padding"}}
}

// drawing is a chart of one measure in the making.
type drawing struct {
	*shape
	measure    *column
	transforms []any
	encoding   object
	subtitle   string
	// taken has the names of fields, fields and renamed those of columns.
	taken           map[string]bool
	fields, renamed map[*column]string
}

// draw returns the title, the transforms and the encoding of a measure.
func (s *shape) draw(m *column) object {
	d := &drawing{shape: s, measure: m, encoding: object{}, taken: map[string]bool{}, fields: map[*column]string{}, renamed: map[*column]string{}}
	for _, c := range s.Columns {
		d.taken[c.Name] = true
	}
	if s.Truncated {
		d.subtitle = fmt.Sprintf("The first %s rows", d.count(len(s.Rows)))
	}
	switch s.kind {
	case bars:
		d.drawBars()
	case columns, lines:
		d.drawPeriods()
	case points:
		d.drawPoints()
	case pie:
		d.drawPie()
	case histogram:
		d.drawHistogram()
	}
	drawn := object{"title": d.title(), "description": d.describe(), "encoding": d.encoding, "height": d.height()}
	if len(d.transforms) > 0 {
		drawn["transform"] = d.transforms
	}
	return drawn
}

// height returns the height of the chart without its axes, in pixels. Bars are as high as their
// labels need.
func (d *drawing) height() int {
	if d.kind != bars {
		return 300
	}
	count := d.main.distinct + min(d.main.nulls, 1)
	if count > maxCategories {
		count = maxCategories + 1
	}
	if d.grouped(d.measure) {
		return count * max(24, 10*min(d.series.distinct, maxSeries))
	}
	return count * 24
}

func (d *drawing) title() object {
	title := object{"text": d.describe(), "anchor": "start"}
	if d.subtitle != "" {
		title["subtitle"] = d.subtitle
	}
	return title
}

// describe says what is drawn.
func (d *drawing) describe() string {
	text := d.measure.display()
	switch {
	case d.kind == histogram:
		return "Distribution of " + lowerFirst(text)
	case d.against != nil:
		text += " and " + lowerFirst(d.against.display())
	default:
		text += " by " + lowerFirst(displayName(d.main.Name))
	}
	switch {
	case d.series == nil:
	case d.against != nil:
		text += " by " + lowerFirst(displayName(d.series.Name))
	default:
		text += " and " + lowerFirst(displayName(d.series.Name))
	}
	return text
}

// lowerFirst starts a title in lower case, unless it is an acronym.
func lowerFirst(text string) string {
	if len(text) > 1 && text[1] >= 'a' && text[1] <= 'z' {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

// grouped reports whether the series of a measure stand side by side, and not on top of
// each other.
func (s *shape) grouped(m *column) bool {
	return s.series != nil && !s.single && (s.kind == columns || s.kind == bars && (!m.summable() || m.least < 0))
}

func (d *drawing) drawBars() {
	main, value := d.field(d.main), d.field(d.measure)
	order := "descending"
	if d.single && d.measure.ascends() {
		order = "ascending"
	}
	if d.measure.nulls > 0 {
		d.add(object{"filter": object{"field": value, "valid": true}})
	}
	series := d.seriesField(value)
	var sort any = object{"field": value, "op": "sum", "order": order}
	if d.main.distinct > maxCategories {
		main, sort = d.top(main, value, order, series)
	}
	d.encoding["y"] = object{"field": main, "type": "nominal", "sort": sort, "title": d.main.title()}
	d.encoding["x"] = d.quantity(d.measure, value, true)
	d.tooltip(d.text(d.main, main), d.color(series, "yOffset"), d.number(d.measure, value))
}

// drawPie draws the parts clockwise, the largest first.
func (d *drawing) drawPie() {
	main, value := d.field(d.main), d.field(d.measure)
	order := object{"field": value, "op": "sum", "order": "descending"}
	d.encoding["theta"] = object{"field": value, "type": "quantitative", "title": d.measure.title(), "stack": true}
	d.encoding["color"] = object{"field": main, "type": "nominal", "sort": order, "title": d.main.title()}
	d.encoding["order"] = object{"field": value, "type": "quantitative", "sort": "descending"}
	d.tooltip(d.text(d.main, main), d.number(d.measure, value))
}

// top replaces all categories but the first by "Other", or leaves them out where their sum
// means nothing. It returns the field and its order.
func (d *drawing) top(main, value, order, series string) (field string, sort any) {
	total, rank := d.name("total"), d.name("rank")
	d.add(object{"joinaggregate": []any{object{"op": "sum", "field": value, "as": total}}, "groupby": []any{main}})
	d.add(object{"window": []any{object{"op": "dense_rank", "as": rank}}, "sort": []any{object{"field": total, "order": order}, object{"field": main, "order": "ascending"}}})
	sort = object{"field": rank, "op": "min", "order": "ascending"}
	d.addSubtitle(fmt.Sprintf("%d of %s", maxCategories, d.count(d.main.distinct)))
	if !d.measure.summable() {
		d.add(object{"filter": object{"field": rank, "lte": maxCategories}})
		return main, sort
	}
	return d.others(main, value, rank, maxCategories, series), sort
}

// others sums what is beyond the first ranks as "Other".
func (d *drawing) others(field, value, rank string, most int, by ...string) string {
	expression := fmt.Sprintf("datum['%s'] <= %d ? DATUM : 'Other'", rank, most)
	shown := d.calculate("shown", expression, field)
	groups := []any{shown}
	for _, field := range by {
		if field != "" {
			groups = append(groups, field)
		}
	}
	d.add(object{
		"aggregate": []any{object{"op": "sum", "field": value, "as": value}, object{"op": "min", "field": rank, "as": rank}},
		"groupby":   groups,
	})
	return shown
}

// seriesField returns the field of the series, with the smallest of many summed as "Other";
// by has other fields that stay.
func (d *drawing) seriesField(value string, by ...string) string {
	if d.series == nil {
		return ""
	}
	field := d.field(d.series)
	if d.series.distinct <= maxSeries {
		return field
	}
	total, rank := d.name("total"), d.name("rank")
	d.add(object{"joinaggregate": []any{object{"op": "sum", "field": value, "as": total}}, "groupby": []any{field}})
	d.add(object{"window": []any{object{"op": "dense_rank", "as": rank}}, "sort": []any{object{"field": total, "order": "descending"}, object{"field": field, "order": "ascending"}}})
	d.addSubtitle(fmt.Sprintf("%d of %s %s", maxSeries-1, d.count(d.series.distinct), lowerFirst(displayName(d.series.Name))))
	if d.main != nil && d.kind == bars {
		by = append(by, d.field(d.main))
	}
	return d.others(field, value, rank, maxSeries-1, by...)
}

func (d *drawing) drawPeriods() {
	value := d.field(d.measure)
	at, label := d.times(d.main)
	series := d.seriesField(value, at, label)
	x := object{"title": d.main.title()}
	switch {
	case d.kind == lines && d.main.grain != "":
		x["field"], x["type"], x["scale"], x["axis"] = at, "temporal", object{"type": "utc"}, d.timeAxis()
	case d.main.grain != "":
		x["field"], x["type"], x["sort"] = label, "ordinal", object{"field": at, "op": "min", "order": "ascending"}
	default:
		x["field"], x["type"], x["sort"] = label, "ordinal", d.main.sort
	}
	if x["type"] == "ordinal" {
		x["axis"] = object{"labelAngle": 0, "labelOverlap": true}
	}
	d.encoding["x"], d.encoding["y"] = x, d.quantity(d.measure, value, d.kind == columns)
	d.tooltip(d.text(d.main, label), d.color(series, "xOffset"), d.number(d.measure, value))
}

func (d *drawing) timeAxis() object {
	axis := object{"format": timeFormats[d.main.grain], "labelOverlap": true}
	if g := d.main.grain; (g == years || g == months) && d.main.distinct <= 24 {
		axis["tickCount"] = string(g) // none between two periods
	}
	return axis
}

func (d *drawing) drawPoints() {
	value := d.field(d.measure)
	var against object
	if d.against != nil {
		field := d.field(d.against)
		d.encoding["x"], against = d.quantity(d.against, field, false), d.number(d.against, field)
	} else {
		at, label := d.times(d.main)
		d.encoding["x"] = object{"field": at, "type": "temporal", "scale": object{"type": "utc"}, "axis": d.timeAxis(), "title": d.main.title()}
		against = d.text(d.main, label)
	}
	series := ""
	if d.series != nil {
		series = d.field(d.series)
	}
	d.encoding["y"] = d.quantity(d.measure, value, false)
	d.tooltip(against, d.color(series, ""), d.number(d.measure, value))
}

func (d *drawing) drawHistogram() {
	value := d.field(d.measure)
	x := d.quantity(d.measure, value, false)
	delete(x, "scale")
	x["bin"] = object{"maxbins": 20}
	d.encoding["x"] = x
	d.encoding["y"] = object{"aggregate": "count", "type": "quantitative", "title": "Number of rows", "axis": object{"format": ",d", "tickMinStep": 1}}
	d.tooltip(object{"field": value, "bin": x["bin"], "type": "quantitative", "title": d.measure.title()},
		object{"aggregate": "count", "type": "quantitative", "title": "Number of rows", "format": ",d"})
}

// quantity returns the axis of a measure. One of bars starts at zero, others where most of
// the axis would be empty do not.
func (d *drawing) quantity(m *column, field string, zero bool) object {
	q := object{"field": field, "type": "quantitative", "title": m.title(), "scale": object{"zero": zero || m.least < 0 || m.least < 0.6*m.most}}
	axis := object{}
	if format := m.axisFormat(); format != "" {
		axis["format"] = format
		if format == siFormat {
			axis["labelExpr"] = "replace(datum.label, 'G', 'B')" // billions
		}
	}
	if m.whole {
		axis["tickMinStep"] = 1
	}
	if len(axis) > 0 {
		q["axis"] = axis
	}
	if d.series != nil && (d.kind == bars || d.kind == columns) {
		q["stack"] = "zero"
		if d.grouped(m) {
			q["stack"] = nil
		}
	}
	return q
}

// color encodes the series by color, and by place where they stand side by side. It returns
// the series for the tooltip.
func (d *drawing) color(series, offset string) object {
	if series == "" {
		return nil
	}
	d.encoding["color"] = object{"field": series, "type": "nominal", "title": d.series.title()}
	if offset != "" && d.grouped(d.measure) {
		d.encoding[offset] = object{"field": series, "type": "nominal"}
	}
	return d.text(d.series, series)
}

func (d *drawing) text(c *column, field string) object {
	return object{"field": field, "type": "nominal", "title": c.title()}
}

func (d *drawing) number(m *column, field string) object {
	return object{"field": field, "type": "quantitative", "title": m.title(), "format": m.valueFormat()}
}

func (d *drawing) tooltip(entries ...object) {
	var all []any
	for _, entry := range entries {
		if entry != nil {
			all = append(all, entry)
		}
	}
	d.encoding["tooltip"] = all
}

func (d *drawing) count(n int) string { return locale.NumbersOf(d.Locale).Int(int64(n)) }

func (d *drawing) add(transform object) { d.transforms = append(d.transforms, transform) }

func (d *drawing) addSubtitle(text string) {
	if d.subtitle != "" {
		text = d.subtitle + "; " + text
	}
	d.subtitle = text
}

// plain are the names that stand for themselves in every place of a specification. Others
// are renamed first, so that no text of the data becomes a part of an expression.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// inherited are the names of members that all JavaScript objects have.
var inherited = set("constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf")

var pathEscapes = strings.NewReplacer(`\`, `\\`, `.`, `\.`, `[`, `\[`, `]`, `\]`, `'`, `\'`, `"`, `\"`)

// name returns a name for a field that no column has.
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
