package ingest_test

import (
	"context"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// readsPart checks what becomes of a part of a file.
func (l *setting) readsPart(source ingest.Source, sheet, wantTypes, wantRows string) ingest.Result {
	l.t.Helper()
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{source}, Options: domain.IngestOptions{Sheet: sheet}})
	if got := types(result.Columns); got != wantTypes {
		l.t.Errorf("types of %s: got  %s\nwant %s", sheet, got, wantTypes)
	}
	if got := l.rows(result.Columns, result); got != wantRows {
		l.t.Errorf("rows of %s: got\n%s\nwant\n%s", sheet, got, wantRows)
	}
	return result
}

// parts lists the parts of a source.
func (l *setting) parts(source ingest.Source) string {
	l.t.Helper()
	names, err := ingest.Parts(context.Background(), source, l.t.TempDir())
	if err != nil {
		l.t.Fatal(err)
	}
	return strings.Join(names, ", ")
}

// refuses checks the message for a file that is refused.
func (l *setting) refuses(source ingest.Source, options domain.IngestOptions, want string) {
	l.t.Helper()
	_, err := l.run(ingest.Job{Sources: []ingest.Source{source}, Options: options})
	if got := refusal(l.t, err); got != want {
		l.t.Errorf("got  %s\nwant %s", got, want)
	}
}

func warnings(result ingest.Result) string {
	var out []string
	for _, w := range result.Report.Warnings {
		out = append(out, w.Message)
	}
	return strings.Join(out, "\n")
}

// An object of arrays of scalars of one length holds columns.
func TestJSONColumns(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.readsPart(l.file("x.json", `{"id": [1, 2 ,3], "na\u006de":["a,b", null,"c"]}`), "", "id BIGINT, name VARCHAR",
		`{"id":1,"name":"a,b"}`+"\n"+`{"id":2,"name":null}`+"\n"+`{"id":3,"name":"c"}`)
	if got, want := warnings(result), "x.json: its arrays are read as columns of 3 rows"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for content, want := range map[string]string{
		`{"a":[1,2],"b":[1]}`:              "a BIGINT[], b BIGINT[]",
		`{"a":[1,2],"b":1}`:                "a BIGINT[], b BIGINT",
		`{"a":[1],"b":[[1]]}`:              "a BIGINT[], b JSON",
		`{"a":[1,2]}` + "\n" + `{"a":[3]}`: "a BIGINT[]",
	} {
		if got := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("y.json", content)}}); types(got.Columns) != want {
			t.Errorf("%s: got %s, want %s", content, types(got.Columns), want)
		}
	}
}

func TestJSONObjectOfArrays(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.file("shop.json", `{"count": 2, "Orders": [{"id": 1,
		"day": "2024-01-02"}, {"id": 2}], "tags": [1, 2], "customers": [{"name": "Ann \"x\""}], "none": []}`)
	if got, want := l.parts(source), "Orders, customers"; got != want {
		t.Errorf("parts: got %s, want %s", got, want)
	}
	result := l.readsPart(source, "ORDERS", "id BIGINT, day DATE", `{"id":1,"day":"2024-01-02"}`+"\n"+`{"id":2,"day":null}`)
	if got, want := warnings(result), "shop.json: not read, since they are no arrays of objects: count, tags"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
	l.readsPart(source, "customers", "name VARCHAR", `{"name":"Ann \"x\""}`)
	l.refuses(source, domain.IngestOptions{}, "shop.json holds 2 tables: Orders, customers; choose one")
	l.refuses(source, domain.IngestOptions{Sheet: "x"}, `shop.json has no table "x"; it holds Orders, customers`)
	l.refuses(l.file("x.csv", "a\n1\n"), domain.IngestOptions{Sheet: "x"}, `x.csv is one table, so "x" cannot be chosen`)
	l.readsPart(l.file("one.json", `{"next": null, "data": [{"a": 1}]}`), "", "a BIGINT", `{"a":1}`)
}

// Files that were read as rows before are so still.
func TestJSONRowsAreNoContainers(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, test := range []struct{ name, file, content, types, rows string }{
		{"one row", "x.json", `{"a": 1, "b": [1, 2]}`, "a BIGINT, b BIGINT[]", `{"a":1,"b":[1,2]}`},
		{"lines", "x.json", `{"a": [{"b": 1}]}` + "\n" + `{"a": []}`, "a JSON", `{"a":[{"b":1}]}` + "\n" + `{"a":[]}`},
		{"a line", "x.ndjson", `{"a": [{"b": 1}]}`, "a JSON", `{"a":[{"b":1}]}`},
	} {
		l.reads(test.file, test.content, test.types, test.rows)
		if got := l.parts(l.file(test.file, test.content)); got != "" {
			t.Errorf("%s: it has the parts %s", test.name, got)
		}
	}
}

func TestJSONObjectOfArraysRefused(t *testing.T) {
	t.Parallel()
	padding := `{"b": "` + strings.Repeat("x", 1<<20) + `"}`
	for _, test := range []struct{ name, content, want string }{
		{"cut off", `{"a": [` + padding + `, {"b": `, "x.json is incomplete: the file ends inside its JSON"},
		{"not JSON", `{"a": [` + padding + `, {"b": x}]}`, "x.json is not JSON: invalid character 'x' looking for beginning of value, near byte 1048596"},
		{"a number among objects", `{"a": [{"b": 1}, 2]}`, "x.json (a), line 2: it is a number, not an object"},
		{"a large value", `{"a": [` + padding + `, {"b": "` + strings.Repeat("x", 20<<20) + `"}]}`, "x.json: a value is longer than 16777216 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			l.refuses(l.file("x.json", test.content), domain.IngestOptions{}, test.want)
		})
	}
}

func TestGeoJSON(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := `{"type": "FeatureCollection", "features": [
		{"type": "Feature", "id": 7, "properties": {"name": "Oslo", "people": 700000}, "geometry": {"type": "Point", "coordinates": [10.75, 59.91]}},
		{"type": "Feature", "properties": {"name": "Nowhere", "note": "x"}, "geometry": null},
		{"type": "Feature", "properties": null, "geometry": null}]}`
	l.readsPart(l.file("cities.geojson", content), "", "id BIGINT, name VARCHAR, people BIGINT, geometry JSON, note VARCHAR",
		`{"id":7,"name":"Oslo","people":700000,"geometry":{"type":"Point","coordinates":[10.75,59.91]},"note":null}`+"\n"+
			`{"id":null,"name":"Nowhere","people":null,"geometry":null,"note":"x"}`+"\n"+
			`{"id":null,"name":null,"people":null,"geometry":null,"note":null}`)
	l.readsPart(l.file("own.json", `{"features": [{"type": "Feature", "geometry": {}, "properties": {"geometry": "mine", "id": 1}, "id": 2}]}`), "features",
		"geometry VARCHAR, id BIGINT, feature_geometry JSON", `{"geometry":"mine","id":1,"feature_geometry":{}}`)
	l.readsPart(l.file("one.geojson", `{"type": "Feature", "id": 7, "properties": {"name": "Oslo"},
		"geometry": {"type": "Point", "coordinates": [10.75, 59.91]}}`), "", "id BIGINT, name VARCHAR, geometry JSON",
		`{"id":7,"name":"Oslo","geometry":{"type":"Point","coordinates":[10.75,59.91]}}`)
	l.readsPart(l.file("plain.json", `{"type": "Feature", "name": "x"}`), "", "type VARCHAR, name VARCHAR", `{"type":"Feature","name":"x"}`)
	l.refuses(l.file("none.geojson", `{"type": "FeatureCollection", "features": []}`), domain.IngestOptions{}, "none.geojson has no rows")
}

// An object of columns whose rows would be too large is refused.
func TestColumnsUnpackTooFar(t *testing.T) {
	t.Parallel()
	l := setup(t)
	text := `{"` + strings.Repeat("x", 200) + `":[1` + strings.Repeat(",1", 20_000) + `]}`
	_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.json", text)}, MaxUnpacked: 1_000_000})
	if got, want := refusal(t, err), "x.json unpacks to more than 1000000 bytes, the limit"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
