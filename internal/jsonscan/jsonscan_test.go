package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"parley/internal/jsonscan"
)

func members(object string) (all []string) {
	for key, value := range jsonscan.Members([]byte(object)) {
		all = append(all, fmt.Sprintf("%s=%s", key, value))
	}
	return all
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for object, want := range map[string][]string{
		`{}`:                {},
		` { } `:             {},
		`{"a":1}`:           {"a=1"},
		`{"":null,"":true}`: {"=null", "=true"},
		" {\n\"a\" :\t[1, {\"b\": 2}] ,\r\"c\": {\"d\":{\"a\":1}} } ": {`a=[1, {"b": 2}]`, `c={"d":{"a":1}}`},
		`{"\u0061\"":"x\",\"y\":","b\\":"}"}`:                         {`a"="x\",\"y\":"`, `b\="}"`},
		`{"a":{},"b":[]}`:                                             {"a={}", "b=[]"},
	} {
		if got := members(object); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", object, got, want)
		}
	}
	for range jsonscan.Members([]byte(`{"a":1,"b":2}`)) {
		break
	}
}

// FuzzMembers compares with what encoding/json reads.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\"}"}],"\ud800":{"":-1e5}, "a" : null}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		var want map[string]json.RawMessage
		if trimmed := bytes.TrimSpace(object); len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(object, &want) != nil {
			t.Skip()
		}
		got := map[string]json.RawMessage{}
		for key, value := range jsonscan.Members(object) {
			var decoded string
			if quoted, err := json.Marshal(string(key)); err != nil || json.Unmarshal(quoted, &decoded) != nil {
				t.Fatal(err)
			}
			got[decoded] = value
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, want %d", object, len(got), len(want))
		}
		for key, value := range want {
			if !bytes.Equal(got[key], value) {
				t.Errorf("%q: %q is %q, want %q", object, key, got[key], value)
			}
		}
	})
}

func TestElements(t *testing.T) {
	t.Parallel()
	for range jsonscan.Elements([]byte(`[1,2]`)) {
		break
	}
}

// FuzzElements compares with what encoding/json reads.
func FuzzElements(f *testing.F) {
	for _, array := range []string{`[]`, ` [ ] `, `[1, "],\"" ,{"a":[1,2]},[[],[3]], null]`} {
		f.Add([]byte(array))
	}
	f.Fuzz(func(t *testing.T, array []byte) {
		var want []json.RawMessage
		if trimmed := bytes.TrimSpace(array); len(trimmed) == 0 || trimmed[0] != '[' || json.Unmarshal(array, &want) != nil {
			t.Skip()
		}
		var got []json.RawMessage
		for element := range jsonscan.Elements(array) {
			got = append(got, element)
		}
		if !slices.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%s: %s, want %s", array, got, want)
		}
	})
}

func BenchmarkMembers(b *testing.B) {
	object := []byte(`{"id":17,"name":"name 17","total":1.5,"tags":["a","b"],"address":{"city":"Bern","zip":"3000"}}`)
	b.ReportAllocs()
	for b.Loop() {
		for range jsonscan.Members(object) {
			continue
		}
	}
}
