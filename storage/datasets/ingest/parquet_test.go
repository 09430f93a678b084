package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/storage/datasets/ingest"
)

// parquet writes a Parquet file of a query.
func (l *setting) parquet(name, query string) ingest.Source {
	l.t.Helper()
	path := filepath.Join(l.dir, name)
	l.exec("COPY (" + query + ") TO '" + path + "' (FORMAT parquet)")
	return ingest.Source{Path: path, Name: name}
}

func TestParquet(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.parquet("x.parquet", `SELECT 1::TINYINT AS small, 18446744073709551615::UBIGINT AS large, 1.5::FLOAT AS f, 1.25::DECIMAL(9,2) AS d,
		'x' AS s, '\x00\xFF'::BLOB AS b, TIMESTAMP_MS '2024-01-01 10:00:00.001' AS ms, TIMESTAMP_NS '2024-01-01 10:00:00.000000001' AS ns,
		TIMESTAMPTZ '2024-01-01 10:00:00+02' AS tz, uuid '00000000-0000-0000-0000-000000000001' AS u, 'a'::ENUM('a','b') AS e,
		{'k': 1, 'l': [1]} AS st, [1, 2] AS li, MAP {'a': 1} AS m, '{"j": 1}'::JSON AS j, NULL::INTEGER AS n, TIME '10:00' AS t`)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{source}})
	if got, want := types(result.Columns), "small BIGINT, large DECIMAL(20,0), f DOUBLE, d DECIMAL(9,2), s VARCHAR, b BLOB, ms TIMESTAMP, ns TIMESTAMP_NS, "+
		"tz TIMESTAMP WITH TIME ZONE, u VARCHAR, e VARCHAR, st STRUCT(k INTEGER, l INTEGER[]), li INTEGER[], m MAP(VARCHAR, INTEGER), j JSON, n NULL, t TIME"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := l.rows(result.Columns, result), `{"small":1,"large":18446744073709551615,"f":1.5,"d":1.25,"s":"x","b":"\\x00\\xFF","ms":"2024-01-01 10:00:00.001",`+
		`"ns":"2024-01-01 10:00:00.000000001","tz":"2024-01-01 08:00:00+00","u":"00000000-0000-0000-0000-000000000001","e":"a",`+
		`"st":{"k":1,"l":[1]},"li":[1,2],"m":{"a":1},"j":{"j":1},"n":null,"t":"10:00:00"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestParquetRefused(t *testing.T) {
	t.Parallel()
	l := setup(t)
	whole := l.parquet("whole.parquet", "SELECT i, md5(i::VARCHAR) AS h FROM range(50000) t(i)")
	content, err := os.ReadFile(whole.Path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), content...)
	for i := 2000; i < 3000; i++ {
		damaged[i] ^= 0xff
	}
	for name, test := range map[string]struct {
		source ingest.Source
		want   string
	}{
		"no rows": {l.parquet("none.parquet", "SELECT 1 AS a WHERE false"), "none.parquet has no rows"},
		"cut off": {l.file("cut.parquet", string(content[:len(content)/2])), "cut.parquet is damaged, or not a Parquet file that can be read"},
		"damaged": {l.file("damaged.parquet", string(damaged)), "damaged.parquet is damaged, or not a Parquet file that can be read"},
		"deep":    {l.parquet("deep.parquet", "SELECT "+strings.Repeat("[", 13)+"1"+strings.Repeat("]", 13)+" AS a"), `deep.parquet, column "a": its values are nested more than 12 deep`},
	} {
		_, err := l.run(ingest.Job{Sources: []ingest.Source{test.source}})
		if got := refusal(t, err); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
