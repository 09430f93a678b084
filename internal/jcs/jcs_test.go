package jcs_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"parley/internal/jcs"
)

func TestCanonical(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ document, want string }{
		// RFC 8785, section 3.2.2: numbers, strings and literals together.
		"the RFC's own": {
			`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		// Section 3.2.3: names are sorted by UTF-16 code units, in which 😀 (D83D DE00)
		// comes before דּ (FB33).
		"the RFC's order": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"a prefix comes first":           {`{"ab":1,"a":2,"":3,"b":4,"B":5}`, `{"":3,"B":5,"a":2,"ab":1,"b":4}`},
		"nested objects":                 {`{"b":{"d":[{"z":1,"y":2}],"c":{}},"a":[]}`, `{"a":[],"b":{"c":{},"d":[{"y":2,"z":1}]}}`},
		"arrays keep their order":        {` [ 3 , 1 , 2 ] `, `[3,1,2]`},
		"control characters":             {`"\u0000\u0001\b\t\n\u000b\f\r\u001f\u007f"`, "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\u007f\""},
		"nothing else is escaped":        {`"<>&\/\u2028\u2029é'"`, "\"<>&/\u2028\u2029é'\""},
		"no normal form is made":         {`"e\u0301"`, "\"e\u0301\""},
		"a pair of surrogates":           {`"\ud83d\ude00\uD83D\uDE00"`, `"😀😀"`},
		"an escaped backslash before u":  {`"\\ud800"`, `"\\ud800"`},
		"two, and then a pair":           {`"\\\\\ud83d\ude00"`, `"\\\\😀"`},
		"a replacement character":        {`"\ufffd"`, "\"\ufffd\""},
		"a string":                       {` "x" `, `"x"`},
		"a literal":                      {"\n\tnull\n", `null`},
		"equal but for the normal form":  {`{"é":1,"e\u0301":2}`, "{\"e\u0301\":2,\"é\":1}"},
		"a name with an escape in order": {`{"\n":1,"\t":2," ":3}`, `{"\t":2,"\n":1," ":3}`},
	} {
		got, err := jcs.Canonical([]byte(test.document))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, test.want)
		}
		again, err := jcs.Canonical(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Errorf("%s, again: %s, %v", name, again, err)
		}
	}
}

// Appendix B of the RFC: doubles by their bits, and how they are written.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		number := strconv.FormatFloat(math.Float64frombits(bits), 'e', 20, 64)
		if got, err := jcs.Canonical([]byte(number)); err != nil || string(got) != want {
			t.Errorf("%016x: %s, %v, want %s", bits, got, err, want)
		}
	}
	for number, want := range map[string]string{
		"1": "1", "-1": "-1", "1.0": "1", "1e0": "1", "10E1": "100", "0.10": "0.1", "1e-6": "0.000001", "1e-7": "1e-7", "123456789012345678": "123456789012345680",
		"1e20": "100000000000000000000", "1e21": "1e+21", "1.5e300": "1.5e+300", "-0.0": "0", "9007199254740993": "9007199254740992", "1e-400": "0",
	} {
		if got, err := jcs.Canonical([]byte(number)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", number, got, err, want)
		}
	}
}

func TestNotCanonical(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{
		"nothing":                    ``,
		"an open object":             `{"a":1`,
		"two documents":              `{} {}`,
		"a trailing comma":           `[1,]`,
		"a name twice":               `{"a":1,"b":2,"a":1}`,
		"a name twice, escaped":      `{"a":1,"\u0061":2}`,
		"a name twice, deep":         `[{"x":{"a":1,"a":1}}]`,
		"no UTF-8":                   "\"\xff\"",
		"half a character":           `"\ud83d"`,
		"the other half":             `"\ude00"`,
		"two first halves":           `"\ud83d\ud83d"`,
		"half before an escape":      `"\ud83d\n"`,
		"half before letters":        `"\ud83dxxxxxx"`,
		"half at the end":            `"\ud83d`,
		"half a character in a name": `{"\ud83d":1}`,
		"a large number":             `1e400`,
		"NaN":                        `NaN`,
		"a leading zero":             `01`,
		"too deep":                   strings.Repeat("[", 300) + strings.Repeat("]", 300),
	} {
		if got, err := jcs.Canonical([]byte(document)); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The canonical form has the same values, and is its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, document := range []string{`{"b":[1.5e300,"\u20ac\n"],"a":{"":null}}`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `[1e-7,-0,1e21,""]`, `"\ud83d"`} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		canonical, err := jcs.Canonical(document)
		if err != nil {
			return
		}
		var was, is any
		if err := json.Unmarshal(document, &was); err != nil {
			t.Fatalf("%q was read: %v", document, err)
		}
		if err := json.Unmarshal(canonical, &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Fatalf("%q became %q: %v", document, canonical, err)
		}
		if again, err := jcs.Canonical(canonical); err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%q became %q and then %q: %v", document, canonical, again, err)
		}
	})
}
