package source

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ names, want string }{
		{"a a a", "a a_2 a_3"},
		{"a a a_2 a", "a a_2 a_2_2 a_3"},
		{"a_2 a a a", "a_2 a a_3 a_4"},
		{"a_3 a_2 a A a", "a_3 a_2 a A_4 a_5"},
		{"K k \u212a ς Σ", "K k_2 \u212a_3 ς Σ_2"},
	} {
		var names Names
		var got []string
		for name := range strings.SplitSeq(test.names, " ") {
			got = append(got, names.Unique(name, "_"))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %v", test.names, got)
		}
	}
}

// The cost of a name does not grow with the names that are there: neither if all are equal, nor if
// the numbers of equal ones are taken by others.
func TestNamesCost(t *testing.T) {
	t.Parallel()
	const size = 2_000
	for name, of := range map[string]func(i int) string{
		"equal":       func(int) string { return "a" },
		"in two ways": func(i int) string { return []string{"a", "A"}[i%2] },
		"taken numbers": func(i int) string {
			if i < size/2 {
				return fmt.Sprintf("a %d", i)
			}
			return "a"
		},
		"taken in turns": func(i int) string {
			if i%2 == 0 {
				return fmt.Sprintf("a %d", i)
			}
			return "a"
		},
	} {
		steps, seen := 0, map[string]bool{}
		names := Names{Fold: func(name string) string { steps++; return strings.ToLower(name) }}
		for i := range size {
			seen[strings.ToLower(names.Unique(of(i), " "))] = true
		}
		if len(seen) != size || steps > 4*size {
			t.Errorf("%s: %d names in %d steps", name, len(seen), steps)
		}
	}
}

// equalParts makes a container of each kind, with so many parts of one name, or of as few names as
// the format allows.
func equalParts(t *testing.T, parts int) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, fmt.Sprint(parts, name))
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	table := "<table><tr><td>a<tr><td>1</table>"
	workbook := map[string]string{"[Content_Types].xml": "<Types/>",
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Type="worksheet" Target="one.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets>` + strings.Repeat(`<sheet name="One" r:id="r1"/>`, parts) + `</sheets></workbook>`,
		"xl/one.xml":                 `<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>`}
	pages := map[string]string{}
	for i := range 4 {
		pages[fmt.Sprintf("%d/page.html", i)] = strings.Repeat(table, parts/4)
	}
	members := map[string]string{}
	for i := range parts {
		members[fmt.Sprintf("%d/a.csv", i)] = "a\n1\n"
	}
	array := `"a":[{"b":"` + strings.Repeat("x", 2*HeadSize/maxParts) + `"}]`
	return map[string]string{
		"HTML":             write("x.html", strings.Repeat(table, parts)),
		"JSON":             write("x.json", "{"+strings.Repeat(array+",", parts-1)+array+"}"),
		"workbook":         write("x.xlsx", zipOf(t, workbook)),
		"archive":          write("x.zip", zipOf(t, members)),
		"archive of pages": write("pages.zip", zipOf(t, pages)),
	}
}

func zipOf(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, content := range files {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func sqliteOf(t *testing.T, tables int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	var script strings.Builder
	script.WriteString("BEGIN;")
	for i := range tables {
		fmt.Fprintf(&script, "CREATE TABLE empty%d (b); CREATE TABLE t%d (b); INSERT INTO t%d VALUES (1);", i, i, i)
	}
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec(script.String() + "COMMIT")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func unpack(t *testing.T, path string) (*Container, error) {
	t.Helper()
	r := &Reader{Dir: t.TempDir(), MaxUnpacked: 1 << 30, Size: 1 << 20}
	in, format, err := r.Open(t.Context(), path, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return r.Unpack(t.Context(), in, format)
}

// The steps, counted as allocations, to read a container grow with its parts, also if they have
// one name. The test is not parallel, as it counts the allocations of the process.
func TestContainerCost(t *testing.T) {
	const parts = 40
	few, many := equalParts(t, parts), equalParts(t, 10*parts)
	few["SQLite"], many["SQLite"] = sqliteOf(t, parts), sqliteOf(t, 10*parts)
	for kind, path := range many {
		steps := func(path string, parts int) float64 {
			return testing.AllocsPerRun(1, func() {
				c, err := unpack(t, path)
				if err != nil {
					t.Fatalf("%s: %v", kind, err)
				}
				defer c.Close()
				names := make([]string, len(c.parts))
				for i, p := range c.parts {
					names[i] = p.Name
				}
				slices.Sort(names)
				if names = slices.Compact(names); len(names) != parts {
					t.Errorf("%s: %d names, want %d", kind, len(names), parts)
				}
			})
		}
		if a, b := steps(few[kind], parts), steps(path, 10*parts); b > 15*a {
			t.Errorf("%s: ten times as many parts take %.0f steps after %.0f", kind, b, a)
		}
	}
}

// A container is refused at the limit of parts, before what follows is read.
func TestPartsLimit(t *testing.T) {
	t.Parallel()
	containers := equalParts(t, maxParts+4)
	containers["SQLite"] = sqliteOf(t, maxParts+1)
	for kind, path := range containers {
		if kind == "HTML" || kind == "JSON" {
			// Behind the parts is what would be refused for another reason.
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, append(content, strings.Repeat("<table><tr><td>", 100)...), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := unpack(t, path)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("more than %d tables", maxParts)) && !strings.Contains(err.Error(), fmt.Sprintf("at most %d are", maxParts)) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// What is in hidden elements that are nested is not read, nor what follows ends that fit none of
// them.
func TestNestedHidden(t *testing.T) {
	t.Parallel()
	const depth = 1000
	path := filepath.Join(t.TempDir(), "x.html")
	if err := os.WriteFile(path, []byte("<div hidden>"+strings.Repeat("<b>", depth)+strings.Repeat("</i>", depth)+strings.Repeat("</b>", depth)+"no</div><p>yes"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := unpack(t, path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := c.parts[0].write(t.Context(), &text); err != nil || strings.TrimSpace(text.String()) != "yes" {
		t.Errorf("%q, %v", text.String(), err)
	}
}

// The steps to leave out hidden elements grow with the size of the file: both allocations and
// the elements that ends are compared with. The test is not parallel, as it counts the allocations
// of the process.
func TestHiddenCost(t *testing.T) {
	const size = 200
	for name, of := range map[string]func(n int) string{
		"nested":            func(n int) string { return strings.Repeat("<div hidden>", n) + strings.Repeat("</div>", n) },
		"nested, not ended": func(n int) string { return strings.Repeat(`<div style="display:none">`, n) + "</div>" },
		"other ends": func(n int) string {
			return "<div hidden>" + strings.Repeat("<b>", n) + strings.Repeat("</i>", n) + "</div>"
		},
		"other starts": func(n int) string {
			return "<p hidden>" + strings.Repeat("<b>", n) + strings.Repeat("<i></i>", n) + "</p>"
		},
		"siblings":     func(n int) string { return strings.Repeat(`<p style="display: none">a<b hidden>b</b></p>`, n) },
		"without ends": func(n int) string { return strings.Repeat("<p hidden><b>", n) },
		"cells":        func(n int) string { return "<table><tr>" + strings.Repeat("<td hidden>a<b>", n) + "</table>" },
		"template": func(n int) string {
			return strings.Repeat("<template><p hidden>", n) + strings.Repeat("</p></template>", n)
		},
		"script":       func(n int) string { return strings.Repeat("<script><p hidden></script>", n) },
		"style of one": func(n int) string { return `<p style="` + strings.Repeat("color:red;", n) + `display:none">a</p>` },
	} {
		allocations := func(n int) float64 {
			content, searched := of(n), 0
			count := testing.AllocsPerRun(1, func() {
				p := &page{}
				if err := p.read(t.Context(), html.NewTokenizer(strings.NewReader(content+"<p>yes"))); err != nil {
					t.Fatal(err)
				}
				if text := strings.TrimSpace(p.text.String()); text != "yes" && name != "nested, not ended" {
					t.Errorf("%s: %.20q", name, text)
				}
				searched = p.searched
			})
			if tags := strings.Count(content, "<"); searched > tags {
				t.Errorf("%s: %d tags are compared with %d elements", name, tags, searched)
			}
			return count
		}
		if few, many := allocations(size), allocations(10*size); many > 15*few {
			t.Errorf("%s: ten times the size takes %.0f allocations after %.0f", name, many, few)
		}
	}
}
