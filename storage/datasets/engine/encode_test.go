package engine

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
