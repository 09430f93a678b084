package datasets

import (
	"encoding/json"
	"strings"
	"testing"
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

// jsonText returns a text as JSON, in as few escapes as it needs.
func jsonText(text string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.TrimSuffix(out.String(), "\n")
}

// A cell that is nested too deep for clients' parsers is text.
func TestDeepCells(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	lists := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	objects := strings.Repeat(`{"a":`, 101) + `"}"` + strings.Repeat("}", 101)
	brackets := `["` + strings.Repeat("[{", 200) + `\\\"[",[]]`
	for expression, want := range map[string]string{
		"'" + lists(100) + "'::JSON":   lists(100),
		"'" + lists(101) + "'::JSON":   jsonText(lists(101)),
		"'" + objects + "'::JSON":      jsonText(objects),
		"'" + brackets + "'::JSON":     brackets,
		"['" + lists(99) + "'::JSON]":  "[" + lists(99) + "]",
		"['" + lists(100) + "'::JSON]": jsonText("[" + lists(100) + "]"),
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
