package chart_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"parley/agents/chart"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/nodetest"
	"parley/cmd/parley/e2e/helpers/servertest"
	"parley/internal/domain"
)

// TestSpec compares the specifications of results with golden files.
func TestSpec(t *testing.T) {
	t.Parallel()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			spec := chart.Spec(e.result())
			if drawn := !strings.HasPrefix(e.name, "none-"); drawn != (spec != nil) {
				t.Fatalf("drawn: %t", spec != nil)
			} else if drawn {
				golden.Assert(t, "charts/"+e.name+".json", indented(t, spec))
			}
		})
	}
}

func indented(t *testing.T, spec map[string]any) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(spec); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRender checks the specifications against the schema of Vega-Lite and has Vega draw
// them, in a zone that is not UTC.
func TestRender(t *testing.T) {
	t.Parallel()
	packages, err := nodetest.Packages(t, filepath.Join("testdata", "vega"))
	if err != nil {
		servertest.Lacking(t, "this test needs npm packages: %v", err)
	}
	var input bytes.Buffer
	shows := map[string]string{}
	for _, e := range examples {
		result := e.result()
		if spec := chart.Spec(result); spec != nil {
			shows[e.name] = e.shows
			if err := json.NewEncoder(&input).Encode(map[string]any{"name": e.name, "spec": spec, "rows": result.Rows}); err != nil {
				t.Fatal(err)
			}
		}
	}
	node := exec.CommandContext(t.Context(), "node", nodetest.Script(t, packages, filepath.Join("testdata", "vega", "render.mjs")))
	node.Env = append(node.Environ(), "TZ=America/New_York")
	node.Stdin = &input
	var stderr strings.Builder
	node.Stderr = &stderr
	output, err := node.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	for line := range bytes.Lines(output) {
		var drawn struct {
			Name, SVG string
			Problems  []string
		}
		if err := json.Unmarshal(line, &drawn); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, problem := range drawn.Problems {
			t.Errorf("%s: %s", drawn.Name, problem)
		}
		for _, text := range strings.Split(shows[drawn.Name], "|") {
			absent := strings.HasPrefix(text, "!")
			if strings.Contains(drawn.SVG, strings.TrimPrefix(text, "!")) == absent {
				t.Errorf("%s: %q in the chart: %t", drawn.Name, text, !absent)
			}
		}
		delete(shows, drawn.Name)
	}
	for name := range shows {
		t.Errorf("%s was not drawn", name)
	}
}

var fieldName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// FuzzSpec makes charts of hostile names and values: no text of theirs becomes a part of an
// expression, fields are safe names, and the size is limited.
func FuzzSpec(f *testing.F) {
	for _, name := range []string{"a.b", `']+alert(1)+datum['`, `\`, "\x00<b>", "__proto__", "constructor", "total", "datum", "year", "a\"b", "%", "["} {
		f.Add(name, "x", "VARCHAR", "DOUBLE", "€", `"x"`, 3)
		f.Add("month", name, "DATE", "DECIMAL(9,2)", name, `"2025-01-01"`, 9)
		f.Add("month", name, "BIGINT", "VARCHAR", name, `true`, 9)
	}
	f.Fuzz(func(t *testing.T, first, second, firstType, secondType, unit, value string, n int) {
		if !json.Valid([]byte(value)) {
			t.Skip()
		}
		r := chart.Result{Question: first, Columns: []chart.Column{{Name: first, Type: firstType}, {Name: second, Type: secondType, Unit: unit}}}
		for i := range min(max(n, 0), 50) {
			row := map[string]any{first: json.RawMessage(value), second: i}
			switch {
			case i == 1: // values need not be of their type
			case domain.KindOf(firstType) == domain.KindTime:
				row[first] = strings.Trim(month(i), `"`)
			case domain.KindOf(firstType) == domain.KindNumber:
				row[first] = i
			case domain.KindOf(firstType) == domain.KindText:
				row[first] = first + strconv.Itoa(i)
			}
			text, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			r.Rows = append(r.Rows, text)
		}
		spec := chart.Spec(r)
		if spec == nil {
			return
		}
		text, err := json.Marshal(spec)
		if err != nil || len(text) > 8<<10 {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		checkNames(t, "", plain)
	})
}

// expressions are all that specifications have: F stands for a safe name of a field.
var expressions = regexp.MustCompile(`^(toNumber\(F\)|isValid\(F\)|isValid\(F\) \? F : '\(none\)'|toDate\(toString\(F\)\)|toDate\(F \+ 'Z'\)|utcFormat\(F, '[-%A-Za-z: ]+'\)|F <= \d+ \? F : 'Other'|replace\(datum\.label, 'G', 'B'\))$`)

var datum = regexp.MustCompile(`datum\['[A-Za-z][A-Za-z0-9_]*'\]`)

// checkNames checks the fields and expressions of a specification.
func checkNames(t *testing.T, key string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, value := range value {
			checkNames(t, key, value)
		}
	case []any:
		for _, value := range value {
			checkNames(t, key, value)
		}
	case string:
		switch key {
		case "field", "as", "groupby":
			if !fieldName.MatchString(value) {
				t.Errorf("%s: %q", key, value)
			}
		case "title", "text", "subtitle", "description":
			if strings.ContainsAny(value, "\\\"\n\x00") {
				t.Errorf("%s: %q", key, value)
			}
		case "calculate", "filter", "expr", "labelExpr", "signal":
			if !expressions.MatchString(datum.ReplaceAllString(value, "F")) {
				t.Errorf("%s: %q", key, value)
			}
		}
	}
}

func BenchmarkSpec(b *testing.B) {
	for _, e := range []example{
		{name: "bars", columns: "city|VARCHAR; orders|BIGINT", rows: times(1000, func(i int) string { return fmt.Sprintf(`"City %d"|%d`, i, i) })},
		{name: "lines", columns: "day|DATE; channel|VARCHAR; orders|BIGINT; revenue|DECIMAL(18,2)", rows: times(1000, func(i int) string { return fmt.Sprintf(`%s|%s|%d|"%d.25"`, day(i/4), regions[i%4], i, i) })},
		{name: "none", columns: "id|BIGINT; name|VARCHAR; city|VARCHAR; country|VARCHAR; email|VARCHAR; age|INTEGER; since|DATE", rows: times(1000, func(i int) string {
			return fmt.Sprintf(`%d|"Name %d"|"City %d"|%s|"%d@example.org"|%d|%s`, i, i, i%70, regions[i%4], i, i%90, day(i))
		})},
	} {
		result := e.result()
		b.Run(e.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				chart.Spec(result)
			}
		})
	}
}

// TestLocale checks the numbers in texts. Formats stay, for who draws the chart.
func TestLocale(t *testing.T) {
	t.Parallel()
	result := chart.Result{Columns: []chart.Column{{Name: "city", Type: "VARCHAR"}, {Name: "amount", Type: "BIGINT"}}}
	for i := range 1000 {
		result.Rows = append(result.Rows, json.RawMessage(fmt.Sprintf(`{"city": "C%d", "amount": %d}`, i, i)))
	}
	for locale, want := range map[string]string{"": `"subtitle":"20 of 1,000"`, "de": `"subtitle":"20 of 1.000"`, "fr": `"subtitle":"20 of 1` + "\u202f" + `000"`} {
		result.Locale = locale
		text, err := json.Marshal(chart.Spec(result))
		if err != nil || !strings.Contains(string(text), want) || !strings.Contains(string(text), `"format":",d"`) {
			t.Errorf("%q: %v %s", locale, err, text)
		}
	}
}
