package params

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

func TestStructure(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", longString+1)
	for text, want := range map[string]int{
		``: 0, `{}`: 2, `{"a":"b"}`: 9,
		`{"a":"` + long + `"}`:              8,
		`{"a":"` + long + `","b":"c"}`:      16,
		`{"a":"` + long + `\"` + long + `"`: 7,
		`{"a":"` + long + `\\","b":[1,2]}`:  18,
		`"` + long:                          1,
		`"\`:                                2,
		`"` + long + `\`:                    1,
	} {
		if got := Structure([]byte(text)); got != want {
			t.Errorf("%.20s … of %d bytes: %d, want %d", text, len(text), got, want)
		}
	}
}

func TestStructureOfMessage(t *testing.T) {
	t.Parallel()
	message := &a2apb.SendMessageRequest{Tenant: "t", Message: &a2apb.Message{MessageId: "m", Parts: []*a2apb.Part{
		{Content: &a2apb.Part_Text{Text: "text"}}, {Content: &a2apb.Part_Raw{Raw: make([]byte, 5000)}}, {Content: &a2apb.Part_Raw{Raw: make([]byte, 7000)}},
		{Content: &a2apb.Part_Data{Data: structpb.NewStringValue(strings.Repeat("x", 3000))}},
	}}}
	wire, err := proto.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	if got := StructureOfMessage(wire); got != len(wire)-12000 {
		t.Errorf("%d of %d", got, len(wire))
	}
}

func FuzzStructure(f *testing.F) {
	for _, seed := range []string{`{"a":"b"}`, `"\`, `"\\"`, "\x12\x04\x2a\x02\x12\x00", "\x12\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for size := range map[int]bool{Structure(data): true, StructureOfMessage(data): true} {
			if size < 0 || size > len(data) {
				t.Errorf("%d of %d", size, len(data))
			}
		}
		// A document of short strings counts whole.
		if json.Valid(data) && len(data) <= longString && Structure(bytes.Clone(data)) != len(data) {
			t.Errorf("%q has %d", data, Structure(data))
		}
	})
}
