package lake

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Each value of DuckDB's as section 7 of the interface writes it.
func TestValues(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for expression, want := range map[string]string{
		"NULL": "null", "true": "true", "42": "42", "(-128)::TINYINT": "-128", "255::UTINYINT": "255", "65535::USMALLINT": "65535",
		"9007199254740992": "9007199254740992", "9007199254740993": `"9007199254740993"`, "-9223372036854775808": `"-9223372036854775808"`,
		"18446744073709551615::UBIGINT": `"18446744073709551615"`, "5::HUGEINT": "5", "-5::HUGEINT": "-5",
		"170141183460469231731687303715884105727::HUGEINT":  `"170141183460469231731687303715884105727"`,
		"340282366920938463463374607431768211455::UHUGEINT": `"340282366920938463463374607431768211455"`,
		"123456789012345678901234567890::BIGNUM":            `"123456789012345678901234567890"`, "-7::BIGNUM": "-7", "0::BIGNUM": "0",
		"1.5::DOUBLE": "1.5", "0.1::FLOAT": "0.1", "1e300": "1e+300", "'NaN'::DOUBLE": `"NaN"`, "'Infinity'::FLOAT": `"Infinity"`, "'-Infinity'::DOUBLE": `"-Infinity"`,
		"1.50::DECIMAL(4,2)": `"1.50"`, "-0.05::DECIMAL(9,2)": `"-0.05"`, "12345678901234.5::DECIMAL(18,1)": `"12345678901234.5"`,
		"1::DECIMAL(38,10)": `"1.0000000000"`, "7::DECIMAL(4,0)": `"7"`,
		"'a\"\\é' || chr(10) || chr(1)": `"a\"\\é\n\u0001"`, "''": `""`, "'a longer text than twelve'": `"a longer text than twelve"`,
		"DATE '2024-02-29'": `"2024-02-29"`, "DATE '0044-03-15 (BC)'": `"-0043-03-15"`, "DATE '12345-01-01'": `"+12345-01-01"`, "'infinity'::DATE": `"infinity"`,
		"'-infinity'::TIMESTAMP": `"-infinity"`, "TIME '12:34:56.789'": `"12:34:56.789"`, "TIME '24:00:00'": `"24:00:00"`,
		"'12:34:56+02:30'::TIMETZ": `"12:34:56+02:30"`, "'12:34:56-08'::TIMETZ": `"12:34:56-08:00"`,
		"TIMESTAMP '2024-01-02 03:04:05'": `"2024-01-02T03:04:05"`, "TIMESTAMP '1969-12-31 23:59:59.5'": `"1969-12-31T23:59:59.5"`,
		"TIMESTAMPTZ '2024-01-02 03:04:05+02'": `"2024-01-02T01:04:05Z"`, "'2024-01-02 03:04:05.123456789'::TIMESTAMP_NS": `"2024-01-02T03:04:05.123456789"`,
		"'2024-01-02 03:04:05'::TIMESTAMP_S": `"2024-01-02T03:04:05"`, "'2024-01-02 03:04:05.25'::TIMESTAMP_MS": `"2024-01-02T03:04:05.25"`,
		"INTERVAL '1 year 2 months 3 days 4 hours 5 minutes 6.5 seconds'": `"P1Y2M3DT4H5M6.5S"`, "INTERVAL 0 DAY": `"PT0S"`, "INTERVAL '-90 seconds'": `"PT-1M-30S"`,
		"'\\xDE\\xAD'::BLOB": `"3q0="`, "'10101'::BIT": `"10101"`, "'0f0e0d0c-0b0a-4908-8706-050403020100'::UUID": `"0f0e0d0c-0b0a-4908-8706-050403020100"`,
		"'f0000000-0000-4000-8000-000000000000'::UUID": `"f0000000-0000-4000-8000-000000000000"`,
		"'b'::ENUM('a', 'b')":                          `"b"`, "[1, NULL, 3]": "[1,null,3]", "[]::INTEGER[]": "[]", "[[1], [], NULL]": "[[1],[],null]", "[1, 2]::INTEGER[2]": "[1,2]",
		"{'b': 1, 'a': 'x', 'n': NULL}": `{"b":1,"a":"x","n":null}`, "row(1, 'x')": `[1,"x"]`, "MAP {'k': 1, 'j': 2}": `{"k":1,"j":2}`, "MAP {1: 'a'}": `{"1":"a"}`,
		"MAP {DATE '2024-01-01': [1.5::DOUBLE]}": `{"2024-01-01":[1.5]}`, "union_value(n := 5)": "5",
		"'{\"z\": [1, 12345678901234567890], \"a\": null}'::JSON": `{"z":[1,12345678901234567890],"a":null}`, "NULL::JSON": "null",
		"[{'a': [DATE '2024-01-01']}]": `[{"a":["2024-01-01"]}]`,
	} {
		if got := s.rows(t, "SELECT "+expression+" AS v"); got != `{"v":`+want+`,"__metadata":{"score":1.0}}` {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

// A cell that is nested too deep for clients' parsers is text.
func TestDeepCells(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	lists := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	quoted := func(json string) string { return string(appendText(nil, json)) }
	objects := strings.Repeat(`{"a":`, 101) + `"}"` + strings.Repeat("}", 101)
	brackets := `["` + strings.Repeat("[{", 200) + `\\\"[",[]]`
	for expression, want := range map[string]string{
		"'" + lists(100) + "'::JSON":   lists(100),
		"'" + lists(101) + "'::JSON":   quoted(lists(101)),
		"'" + objects + "'::JSON":      quoted(objects),
		"'" + brackets + "'::JSON":     brackets,
		"['" + lists(99) + "'::JSON]":  "[" + lists(99) + "]",
		"['" + lists(100) + "'::JSON]": quoted("[" + lists(100) + "]"),
	} {
		if got := s.rows(t, "SELECT "+expression+" AS v"); got != `{"v":`+want+`,"__metadata":{"score":1.0}}` {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}

func TestColumnsOfResults(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for sql, want := range map[string]string{
		"SELECT 1 AS a, 2 AS a, 3 AS a":                  `{"a":1,"a_2":2,"a_3":3,"__metadata":{"score":1.0}}`,
		"SELECT 1 AS a, 2 AS a, 3 AS a_2":                `{"a":1,"a_3":2,"a_2":3,"__metadata":{"score":1.0}}`,
		"SELECT 1 AS __metadata, 2 AS b":                 `{"__metadata_2":1,"b":2,"__metadata":{"score":1.0}}`,
		"SELECT 1 AS a, 2 AS \"__total amount\"":         `{"a":1,"__total amount":2,"__metadata":{"score":1.0}}`,
		"SELECT 1 AS a, 0.25 AS __score":                 `{"a":1,"__metadata":{"score":0.25}}`,
		"SELECT 1 AS a, 0.5::DOUBLE AS __score":          `{"a":1,"__metadata":{"score":0.5}}`,
		"SELECT 7 AS __score, 1 AS a":                    `{"a":1,"__metadata":{"score":1.0}}`,
		"SELECT NULL AS __score":                         `{"__metadata":{"score":0}}`,
		"SELECT -1 AS __score, 'NaN'::DOUBLE AS b":       `{"b":"NaN","__metadata":{"score":0}}`,
		"SELECT 'x' AS \"quo\"\"te\"":                    `{"quo\"te":"x","__metadata":{"score":1.0}}`,
		"SELECT max(total) AS m FROM orders WHERE false": `{"m":null,"__metadata":{"score":1.0}}`,
	} {
		if got := s.rows(t, sql); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	result, err := s.query(t, "SELECT id, total::DECIMAL(9,2) AS t, [day] AS d FROM orders WHERE false")
	if err != nil || len(result.Columns) != 3 || result.Columns[1].Type != "DECIMAL(9,2)" || result.Columns[2].Type != "DATE[]" {
		t.Errorf("columns of no rows: %v, %v", result.Columns, err)
	}
}

// Days and times agree with Go's calendar where it has them.
func FuzzTimes(f *testing.F) {
	f.Add(int32(0), int64(0))
	f.Add(int32(19_782), int64(-1))
	f.Add(int32(-719_528), int64(1_700_000_000_123_456))
	f.Fuzz(func(t *testing.T, days int32, micros int64) {
		day := time.Unix(int64(days)*86_400, 0).UTC()
		if y := day.Year(); y >= 0 && y <= 9999 {
			if got, want := string(appendDate(nil, days)), `"`+day.Format(time.DateOnly)+`"`; got != want {
				t.Errorf("day %d: got %s, want %s", days, got, want)
			}
		}
		stamp := time.UnixMicro(micros).UTC()
		if y := stamp.Year(); y >= 0 && y <= 9999 {
			if got, want := string(appendTimestamp(nil, micros, 1e6, 6, "Z")), `"`+stamp.Format("2006-01-02T15:04:05.999999")+`Z"`; got != want {
				t.Errorf("time %d: got %s, want %s", micros, got, want)
			}
		}
		for _, value := range [][]byte{appendDate(nil, days), appendTimestamp(nil, micros, 1e9, 9, ""), appendTimestamp(nil, micros, 1, 0, ""),
			appendInterval(nil, days, days/2, micros), appendTimeTZ(nil, uint64(micros)), appendTime(nil, micros&(1<<36-1), 1e6, 6)} {
			if !json.Valid(value) {
				t.Errorf("not JSON: %s", value)
			}
		}
	})
}

// Whatever a row holds, it is one JSON object that says what went in.
func FuzzRow(f *testing.F) {
	f.Add("name", "text", []byte{1, 2}, int64(1), 1.5)
	f.Add("a\"b", "\xff\u2028\x00", []byte(nil), int64(math.MinInt64), math.NaN())
	f.Add("__metadata", `{"a":1}`, []byte{7, 1}, int64(1<<53+1), math.Inf(-1))
	f.Fuzz(func(t *testing.T, name, text string, data []byte, number int64, float float64) {
		row := []byte{'{'}
		for i, key := range uniqueNames([]string{name, name, "n", "f", "u", "d", "h", "b", "j"}) {
			row = append(appendText(row, key), ':')
			switch i {
			case 0:
				row = appendText(row, text)
			case 1:
				row = appendBinary(row, data)
			case 2:
				row = appendInt(row, number)
			case 3:
				row = appendFloat(row, float, 64)
			case 4:
				row = appendUint(row, uint64(number))
			case 5:
				row = appendDecimal(row, big.NewInt(number), int(uint8(number))%39)
			case 6:
				row = appendUUID(row, hugeint{uint64(number), number})
			case 7:
				row = appendBits(row, data)
			case 8:
				row = appendDocument(row, text)
			}
			row = append(row, ',')
		}
		row = append(appendScore(row, float), '}')
		var back map[string]json.RawMessage
		if err := json.Unmarshal(row, &back); err != nil {
			t.Fatalf("%v: %s", err, row)
		}
		if utf8.ValidString(name) && len(back) != 10 {
			t.Errorf("%d keys: %s", len(back), row)
		}
		var got string
		if err := json.Unmarshal(appendText(nil, text), &got); err != nil || got != strings.ToValidUTF8(text, "\ufffd") && utf8.ValidString(text) {
			t.Errorf("%q became %q: %v", text, got, err)
		}
		if s := strings.Trim(string(appendInt(nil, number)), `"`); s != strconv.FormatInt(number, 10) {
			t.Errorf("%d became %s", number, s)
		}
		if score := parseScore(appendFloat(nil, float, 64)); !math.IsNaN(float) && !math.IsInf(float, 0) && score != float {
			t.Errorf("%v became %v", float, score)
		}
	})
}
