package ingest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

func (l *setting) profile(result ingest.Result) domain.Profile {
	l.t.Helper()
	profile, err := ingest.Profile(l.t.Context(), l.db, result.Files, result.Columns)
	if err != nil {
		l.t.Fatal(err)
	}
	return profile
}

func TestProfile(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.parquet("all.parquet", `
		SELECT i AS id, CASE WHEN i % 4 > 0 THEN i % 3 / 2.0 END::DOUBLE AS price, 'it''s ' || (i % 5) AS "na""me", DATE '2024-01-01' + CAST(i % 30 AS INTEGER) AS day,
			TIMESTAMP '2024-01-01 12:00:00' AS at, i % 2 = 0 AS paid, [i] AS list, {'a': i} AS deep, CAST(i AS DECIMAL(9,2)) AS exact,
			CASE WHEN i = 0 THEN 'infinity'::TIMESTAMP ELSE '2024-01-02'::TIMESTAMP END AS odd, CASE WHEN i = 0 THEN 'nan'::DOUBLE ELSE 1 END AS nan,
			repeat('ü', 100) AS long, 1.7::DOUBLE AS once, CASE WHEN i % 2 = 0 THEN 1 ELSE 3 END::BIGINT AS few, CAST(NULL AS VARCHAR) AS nothing
		FROM range(1000) t(i)`)}})
	profile := l.profile(result)
	got := map[string]string{}
	for i := range profile.Columns {
		c := profile.Columns[i]
		if i > 0 && c.Type != "NULL" && len(c.Sketch) != domain.SketchSize {
			t.Errorf("%s: a sketch of %d bytes", c.Name, len(c.Sketch))
		}
		c.Sketch, c.Top = nil, c.Top[:min(len(c.Top), 2)]
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got[c.Name] = string(text)
	}
	for name, want := range map[string]string{
		"price": `{"name":"price","type":"DOUBLE","missing":250,"distinct":3,"min":"0.0","max":"1.0","top":[{"value":"0.0","count":250},{"value":"0.5","count":250}],"histogram":{"from":0,"to":1,"counts":[250,0,0,0,0,0,0,0,0,0,250,0,0,0,0,0,0,0,0,250]}}`,
		`na"me`: `{"name":"na\"me","type":"VARCHAR","missing":0,"distinct":5,"min":"it's 0","max":"it's 4","top":[{"value":"it's 0","count":200},{"value":"it's 1","count":200}],"length":{"min":6,"max":6,"average":6}}`,
		"paid":  `{"name":"paid","type":"BOOLEAN","missing":0,"distinct":2,"min":"false","max":"true","top":[{"value":"false","count":500},{"value":"true","count":500}]}`,
		"at":    `{"name":"at","type":"TIMESTAMP","missing":0,"distinct":1,"min":"2024-01-01 12:00:00","max":"2024-01-01 12:00:00","top":[{"value":"2024-01-01 12:00:00","count":1000}],"histogram":{"from":1704110400,"to":1704110400,"counts":[1000]}}`,
		"day":   `{"name":"day","type":"DATE","missing":0,"distinct":30,"min":"2024-01-01","max":"2024-01-30","top":[{"value":"2024-01-01","count":34},{"value":"2024-01-02","count":34}],"histogram":{"from":1704067200,"to":1706659200,"counts":[68,68,68,68,68,66,66,66,66,66,66,66,66,66,66]}}`,
		"id":    `{"name":"id","type":"BIGINT","missing":0,"distinct":1000,"min":"0","max":"999","top":[{"value":"0","count":1},{"value":"1","count":1}],"histogram":{"from":0,"to":1000,"counts":[50,50,50,50,50,50,50,50,50,50,50,50,50,50,50,50,50,50,50,50]}}`,
		"once":  `{"name":"once","type":"DOUBLE","missing":0,"distinct":1,"min":"1.7","max":"1.7","top":[{"value":"1.7","count":1000}],"histogram":{"from":1.7,"to":1.7,"counts":[1000]}}`,
		"few":   `{"name":"few","type":"BIGINT","missing":0,"distinct":2,"min":"1","max":"3","top":[{"value":"1","count":500},{"value":"3","count":500}],"histogram":{"from":1,"to":4,"counts":[500,0,500]}}`,
		"odd":   `{"name":"odd","type":"TIMESTAMP","missing":0,"distinct":2,"min":"2024-01-02 00:00:00","max":"infinity","top":[{"value":"2024-01-02 00:00:00","count":999},{"value":"infinity","count":1}]}`,
	} {
		if got[name] != want {
			t.Errorf("%s is\n%s, want\n%s", name, got[name], want)
		}
	}
	for name, distinct := range map[string]int64{"id": 1000, "long": 1, "nan": 2, "exact": 1000, "nothing": 0} {
		at := slices.IndexFunc(profile.Columns, func(c domain.ColumnProfile) bool { return c.Name == name })
		if got := profile.Columns[at].Distinct; got != distinct {
			t.Errorf("%s: %d different values, want %d", name, got, distinct)
		}
	}
}

// TestProfileOfManyColumns: a column is profiled alike, however many there are.
func TestProfileOfManyColumns(t *testing.T) {
	t.Parallel()
	l := setup(t)
	columns := func(count int) string {
		var exprs []string
		for i := range count {
			exprs = append(exprs, fmt.Sprintf(`CASE WHEN i %% 7 > 0 THEN (i * %d) %% 11 END AS "k%d"`, i, i))
		}
		return "SELECT " + strings.Join(exprs, ", ") + ", CAST(NULL AS VARCHAR) AS nothing FROM range(7000) t(i)"
	}
	few := l.profile(l.mustRun(ingest.Job{Sources: []ingest.Source{l.parquet("few.parquet", columns(60))}}))
	many := l.profile(l.mustRun(ingest.Job{Sources: []ingest.Source{l.parquet("many.parquet", columns(130))}}))
	if diff := cmp.Diff(few.Columns[:60], many.Columns[:60]); diff != "" {
		t.Error(diff)
	}
	if k1 := many.Columns[1]; k1.Missing != 1000 || k1.Distinct != 11 || len(k1.Top) != 11 || k1.Top[0].Value != "0" || k1.Top[0].Count != 546 || *k1.Max != "10" {
		t.Errorf("%+v", k1)
	}
	if last := many.Columns[130]; last.Name != "nothing" || last.Missing != 7000 {
		t.Errorf("%+v", last)
	}
}

// TestProfileOfFewRows compares rows with the same rows four times: few rows are counted and
// put into bins by other means than many.
func TestProfileOfFewRows(t *testing.T) {
	t.Parallel()
	l := setup(t)
	rows := func(times int) domain.Profile {
		return l.profile(l.mustRun(ingest.Job{Sources: []ingest.Source{l.parquet(fmt.Sprint(times, ".parquet"), fmt.Sprintf(`
			SELECT i %% 13 - 6 AS few, i * 37 %% 1009 AS whole, (i * 7919 %% 1000) / 7.0 AS part, CAST((i * 31 %% 97) / 8 AS DECIMAL(12,3)) AS exact, CAST(i * 31 %% 97 AS DECIMAL(18,0)) AS exact_whole,
				(i * 7919 %% 1000) * 1e300 AS huge, 9007199254740990 + i AS wide, DATE '1969-12-01' + CAST(i * 11 %% 90 AS INTEGER) AS day,
				TIMESTAMP '1969-12-31' + to_milliseconds(i * 7919) AS at, CASE WHEN i %% 5 = 0 THEN 'inf'::DOUBLE ELSE i END AS endless,
				CASE WHEN i %% 3 > 0 THEN 'item ' || i %% 17 END AS text, i %% 2 = 0 AS yes
			FROM range(900) t(i), range(%d)`, times))}}))
	}
	few, many := rows(1), rows(4)
	for i, c := range few.Columns {
		c.Missing *= 4
		for j := range c.Top {
			c.Top[j].Count *= 4
		}
		if c.Histogram != nil {
			for j := range c.Histogram.Counts {
				c.Histogram.Counts[j] *= 4
			}
		}
		// Of many rows, columns whose values are counted have an empty sketch.
		if diff := cmp.Diff(c, many.Columns[i], cmpopts.IgnoreFields(c, "Sketch")); diff != "" {
			t.Errorf("%s: %s", c.Name, diff)
		}
	}
}

// TestBinsOfLargeNumbers: bounds beyond 2^53 are rounded, and yet each value is in a bin.
func TestBinsOfLargeNumbers(t *testing.T) {
	t.Parallel()
	l := setup(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, rows := range []int{2, 30, 1500} {
		for try := range 10 {
			content := "v\n"
			for range rows {
				content += fmt.Sprintln(random.Int64()>>1 - 1<<61)
			}
			if try == 0 {
				content = "v\n" + strings.Repeat("9007199254740803\n9007199254740993\n", rows/2)
			}
			profile := l.profile(l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(fmt.Sprintf("%d-%d.csv", rows, try), content)}}))
			h, sum := profile.Columns[0].Histogram, int64(0)
			for _, n := range h.Counts {
				sum += n
			}
			most, err := strconv.ParseFloat(*profile.Columns[0].Max, 64)
			if sum != int64(rows) || err != nil || h.To < most {
				t.Errorf("%d rows, try %d: %d values in bins to %g, most is %g, %v", rows, try, sum, h.To, most, err)
			}
		}
	}
}

// TestProfileEstimates compares the estimated number of different values with the real one.
func TestProfileEstimates(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, distinct := range []int{60_000, 200_000, 1_000_000} {
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.parquet(fmt.Sprint(distinct, ".parquet"), fmt.Sprintf("SELECT 'customer ' || i AS name, i AS id FROM range(%d) t(i)", distinct))}})
		for _, c := range l.profile(result).Columns {
			if off := math.Abs(float64(c.Distinct)/float64(distinct) - 1); off > 0.25 || len(c.Top) > 0 {
				t.Errorf("%s: %d different values, estimated at %d, %d counted", c.Name, distinct, c.Distinct, len(c.Top))
			}
		}
	}
}

// BenchmarkProfile compares an ingestion with and without the profile of its rows.
func BenchmarkProfile(b *testing.B) {
	benchtest.Each(b, "rows", benchtest.Sizes(100_000, 10_000, 1_000_000, 5_000_000), func(b *testing.B, rows int) {
		l := setup(b)
		source := filepath.Join(l.dir, "orders.csv")
		l.exec(fmt.Sprintf(ordersSQL, rows, source))
		b.ResetTimer()
		for range b.N {
			var whole, profiles []time.Duration
			for range 5 {
				start := time.Now()
				result := l.mustRun(ingest.Job{Sources: []ingest.Source{{Path: source, Name: "orders.csv"}}})
				ingested := time.Now()
				if profile, err := ingest.Profile(b.Context(), l.db, result.Files, result.Columns); err != nil || profile.Rows != int64(rows) {
					b.Fatal(profile.Rows, err)
				}
				whole, profiles = append(whole, time.Since(start)), append(profiles, time.Since(ingested))
			}
			took, profile := slices.Min(whole), slices.Min(profiles)
			b.ReportMetric(float64(took)/float64(took-profile), "×unprofiled")
			b.ReportMetric(took.Seconds(), "s/ingest")
			b.ReportMetric(profile.Seconds(), "s/profile")
		}
	})
}

// Texts that differ only in case or blanks are counted, in few rows and in many.
func TestProfileAlike(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, times := range []int{1, 1000} {
		content := "city,code\n" + strings.Repeat("Paris,a\nparis,b\n\"Paris \",c\nOslo,d\nROME,e\nRome,f\n", times)
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", content)}})
		profile, err := ingest.Profile(t.Context(), l.db, result.Files, result.Columns)
		if err != nil {
			t.Fatal(err)
		}
		got := ingest.AlikeTexts(profile)
		if len(got) != 1 || got[0].Column != "city" || got[0].Message != "3 values different from others only in case or blanks: groups count them apart, filters do not" {
			t.Errorf("%d times: got %+v", times, got)
		}
	}
}

// Lengths count characters.
func TestProfileLengths(t *testing.T) {
	t.Parallel()
	l := setup(t)
	profile := l.profile(l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", "city,n\nZürich,1\n東京,2\n")}}))
	if got := profile.Columns[0].Length; got.Min != 2 || got.Max != 6 || got.Average != 4 {
		t.Errorf("got %+v", got)
	}
}

// TestProfileOfLists counts the members of lists of texts, in few rows and in many.
func TestProfileOfLists(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{100, 3000} {
		l := setup(t)
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.parquet("x.parquet", fmt.Sprintf(
			`SELECT i AS id, CASE WHEN i %% 4 > 0 THEN ['all', 'tag ' || (i %% 2), NULL] END AS tags, CAST([] AS VARCHAR[]) AS empty, [i] AS numbers FROM range(%d) t(i)`, rows))}})
		p := l.profile(result)
		tags, empty := p.Columns[1], p.Columns[2]
		quarter := int64(rows / 4)
		want := []domain.ValueCount{{Value: "all", Count: 3 * quarter}, {Value: "tag 1", Count: 2 * quarter}, {Value: "tag 0", Count: quarter}}
		if tags.Type != "VARCHAR[]" || tags.Missing != quarter || tags.Distinct != 3 || !slices.Equal(tags.Top, want) || tags.Min != nil || tags.Length != nil {
			t.Errorf("%d rows: tags are %+v", rows, tags)
		}
		if empty.Missing != 0 || empty.Distinct != 0 || len(empty.Top) > 0 {
			t.Errorf("%d rows: empty lists are %+v", rows, empty)
		}
	}
}
