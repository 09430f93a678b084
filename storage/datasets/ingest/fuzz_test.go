package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/internal/domain"
)

func FuzzSplitter(f *testing.F) {
	f.Add("# One\n\ntext\n## Two\n", true)
	f.Add(strings.Repeat("word ", 900), false)
	f.Add(strings.Repeat("日本。", 3000), false)
	f.Add(strings.Repeat("x", 9000), false)
	f.Add("```\n# no\n", true)
	f.Add(strings.Repeat("A sentence of words. ", 300)+"\n\n\n"+strings.Repeat("b\n\n", 500), true)
	f.Fuzz(func(t *testing.T, text string, markdown bool) {
		if !utf8.ValidString(text) {
			return
		}
		var passages []string
		s := &splitter{markdown: markdown, emit: func(p []byte) { passages = append(passages, string(p)) }}
		r := &run{}
		if err := r.splitFile(context.Background(), strings.NewReader(text), "x", s); err != nil {
			var refusal *domain.Error
			if strings.ContainsRune(text, 0) && errors.As(err, &refusal) {
				return
			}
			t.Fatal(err)
		}
		if got, want := solid(strings.Join(passages, "")), solid(text); got != want {
			t.Fatalf("text was lost or made up: %d characters of %d", len(got), len(want))
		}
		for _, p := range passages {
			if strings.TrimSpace(p) != p || p == "" || !utf8.ValidString(p) {
				t.Fatalf("a passage is not whole: %q", p)
			}
		}
	})
}

// solid is text without blanks.
func solid(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// FuzzJSON holds the scanner against the standard library's.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00",null,true]}`, `{"a":01}`, `{"a":1,}`, `{"a" : {} }`, `{"a":"\ud83d"}`, `{`, `{"a":tru`, `{"a":[[[]]]}`, "{\"a\":\"\n\"}", `{"a":-}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) == 0 || text[0] != '{' || !utf8.Valid(text) || bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > maxDepth {
			return
		}
		s := &jsonScanner{buf: text, inRow: true, err: errEnd}
		err := s.object(func([]byte) error {
			_, err := s.value(2)
			return err
		})
		ours := err == nil && len(bytes.Trim(text[s.pos:], " \t\r\n")) == 0
		theirs := json.Valid(text)
		if ours && !theirs {
			t.Fatalf("%q passed for JSON", text)
		}
		// The library lets halves of characters pass.
		if theirs && !ours && !bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) {
			t.Fatalf("%q was refused: %v", text, err)
		}
	})
}

// FuzzCSV scans a text as a whole and in small pieces, which must see the same.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("1,2\n3,4\n"), 3)
	f.Add([]byte("\"a\nb\",\"\"\r\n\n,x\"y"), 1)
	f.Add([]byte("1,\"x\n"), 2)
	f.Add([]byte("1,2,3\n"), 2)
	f.Add([]byte("1\r2,3"), 5)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		if size < 1 || size > len(text) {
			return
		}
		scanner := newCSVScanner(',', []string{"a", "b"})
		whole := scanner.newBlock()
		scanner.scanText(whole, text, true)
		pieces := scanner.newBlock()
		var buf []byte
		for at := 0; pieces.problem == nil; {
			end := min(len(text), at+size)
			buf = append(buf, text[at:end]...)
			at = end
			found := scanner.newBlock()
			consumed := scanner.scanText(found, buf, at == len(text))
			pieces.merge(found)
			buf = buf[consumed:]
			if at == len(text) {
				break
			}
		}
		if (whole.problem == nil) != (pieces.problem == nil) {
			t.Fatalf("whole: %+v, in pieces: %+v", whole.problem, pieces.problem)
		}
		if whole.problem == nil && (whole.rows != pieces.rows || whole.lines != pieces.lines || !cmp.Equal(whole.columns, pieces.columns, cmp.AllowUnexported(columnCells{}, cellGroup{}), cmpopts.IgnoreFields(columnCells{}, "last"))) {
			t.Fatalf("whole: %d rows, %d lines; in pieces: %d rows, %d lines", whole.rows, whole.lines, pieces.rows, pieces.lines)
		}
	})
}

// FuzzKind holds the kinds of values against the standard library's parsers.
func FuzzKind(f *testing.F) {
	for _, v := range []string{"5", "0", "007", "123456789012345678", "0.5", "00.5", "1.2.3", ".5", "true", "2024-02-29", "0000-01-01", "2024-02-28T23:59:59", "2024-02-28 24:00:00", "x"} {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, v []byte) {
		if len(v) == 0 {
			return
		}
		text := strings.Trim(string(v), " ")
		var err error
		k := classify(v)
		switch k {
		case kindInt:
			_, err = strconv.ParseInt(text, 10, 64)
		case kindFloat, kindPoint3:
			_, err = strconv.ParseFloat(text, 64)
		case kindDate:
			_, err = time.Parse("2006-1-2", strings.ReplaceAll(text, "/", "-"))
		case kindTime:
			_, err = time.Parse("15:04:05", (text + ":00")[:8])
		}
		if err != nil {
			t.Fatalf("%q is no %d: %v", v, k, err)
		}
		if date, err := time.Parse(time.DateOnly, string(v)); err == nil && date.Year() > 0 && k != kindDate {
			t.Fatalf("%q is a date, not %d", v, k)
		}
		if at, err := time.Parse(time.DateTime, string(v)); err == nil && at.Year() > 0 && len(v) == 19 && k != kindTimestamp {
			t.Fatalf("%q is a timestamp, not %d", v, k)
		}
	})
}
