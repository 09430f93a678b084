package params_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/proto"

	"parley/a2aserver/params"
)

// TestProblems names the wrong field in plain words, not in those of the schema.
func TestProblems(t *testing.T) {
	t.Parallel()
	send := func() proto.Message { return new(a2apb.SendMessageRequest) }
	list := func() proto.Message { return new(a2apb.ListTasksRequest) }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for text, test := range map[string]struct {
		into func() proto.Message
		want string
	}{
		`[]`:                                    {send, "params of M must be an object"},
		`{"message":7}`:                         {send, "message must be an object"},
		`{"message":{"parts":{}}}`:              {send, "message.parts must be a list"},
		`{"message":{"parts":[1]}}`:             {send, "message.parts[0] must be an object"},
		`{"message":{"parts":[{},{"text":1}]}}`: {send, "message.parts[1].text must be a text"},
		`{"message":{"parts":[{"text":"a","raw":"YQ=="}]}}`:               {send, "message.parts[0] must have only one of text, raw, url, data"},
		`{"message":{"parts":[{"raw":"a b"}]}}`:                           {send, "message.parts[0].raw must be base64"},
		`{"message":{"parts":[{"raw":5}]}}`:                               {send, "message.parts[0].raw must be base64"},
		`{"message":{"parts":[{"text":"\ud800"}]}}`:                       {send, "message.parts[0].text must be Unicode: it has half of a surrogate pair"},
		`{"message":{"parts":[{"data":{"a":[{"b":1,"b":2}]}}]}}`:          {send, "message.parts[0].data.a[0].b is there twice"},
		`{"message":{"role":[]}}`:                                         {send, "message.role must be a name, such as ROLE_USER"},
		`{"message":{"metadata":[]}}`:                                     {send, "message.metadata must be an object"},
		`{"message":{"messageId":"a","message_id":"b"}}`:                  {send, "message.messageId is there twice"},
		`{"configuration":{"returnImmediately":"yes"}}`:                   {send, "configuration.returnImmediately must be true or false"},
		`{"configuration":{"acceptedOutputModes":["a",2]}}`:               {send, "configuration.acceptedOutputModes[1] must be a text"},
		`{"metadata":{"x":` + deep(params.MaxDepth) + `}}`:                {send, "params must not be nested more than 64 levels deep"},
		`{"pageSize":1.5}`:                                                {list, "pageSize must be a whole number of 32 bits"},
		`{"pageSize":1e99}`:                                               {list, "pageSize must be a whole number of 32 bits"},
		`{"pageSize":1e999999999}`:                                        {list, "pageSize must be a whole number of 32 bits"},
		`{"pageSize":2147483648}`:                                         {list, "pageSize must be a whole number of 32 bits"},
		`{"pageSize":null,"statusTimestampAfter":"yesterday"}`:            {list, "statusTimestampAfter must be a time such as 2006-01-02T15:04:05Z"},
		`{"metadata":{"` + strings.Repeat("k", 500) + `":{"a":1,"a":2}}}`: {send, "metadata." + strings.Repeat("k", 200-len("metadata.")) + "… is there twice"},
	} {
		problem := params.Read("M", []byte(text), test.into())
		if problem == nil {
			t.Errorf("%s: no problem", text)
		} else if got := problem.Field + " " + problem.Text; got != test.want {
			t.Errorf("%s: %s, want %s", text, got, test.want)
		}
	}
}

// TestProblemCost: neither long keys nor deep nesting take many times the size of the params. The
// test is not parallel, as it counts what the process allocates.
func TestProblemCost(t *testing.T) {
	long := strings.Repeat("k", 1<<20)
	nested := func(depth int, value string) string {
		return strings.Repeat("[", depth) + value + strings.Repeat("]", depth)
	}
	for name, test := range map[string]struct{ text, want string }{
		"elements below a long key":   {`{"metadata":{"` + long + `":[0` + strings.Repeat(",0", 10_000) + `]},"message":7}`, "message must be an object"},
		"elements below a short key":  {`{"metadata":{"` + long[:100] + `":[0` + strings.Repeat(",0", 100_000) + `]},"message":7}`, "message must be an object"},
		"members below a long key":    {`{"metadata":{"` + long + `":[{}` + strings.Repeat(`,{"a":{}}`, 10_000) + `]},"message":7}`, "message must be an object"},
		"messages below a long key":   {`{"metadata":{"` + long + `":1},"message":{"parts":[{}` + strings.Repeat(`,{"metadata":{}}`, 5_000) + `,7]}}`, "message.parts[5001] must be an object"},
		"a long text, nested":         {`{"metadata":{"a":` + nested(params.MaxDepth-4, `"`+long+`"`) + `},"message":7}`, "message must be an object"},
		"a problem behind the limit":  {`{"metadata":{"a":` + nested(params.MaxDepth-4, `"`+long+`",{"a":1,"a":2}`) + `}}`, " "},
		"a problem in deep nesting":   {`{"metadata":{"a":` + nested(params.MaxDepth-4, `{"b":1,"b":2}`) + `}}`, "metadata.a" + strings.Repeat("[0]", params.MaxDepth-4) + ".b is there twice"},
		"a problem beside a big file": {`{"message":{"parts":[{"raw":"` + long + `"},{"text":1}]}}`, "message.parts[1].text must be a text"},
	} {
		text, schema := []byte(test.text), new(a2apb.SendMessageRequest).ProtoReflect().Descriptor()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		problem := params.FindProblem(schema, text)
		runtime.ReadMemStats(&after)
		if used := int(after.TotalAlloc - before.TotalAlloc); used > 10*len(text)+1<<20 {
			t.Errorf("%s: %d bytes allocated for %d", name, used, len(text))
		}
		if problem == nil {
			problem = &params.Problem{}
		}
		if got := problem.Field + " " + problem.Text; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// FuzzProblems: whatever params hold, the problem has no words of the schema.
func FuzzProblems(f *testing.F) {
	f.Add([]byte(`{"message":{"parts":[{"text":"a","data":{"a":1,"a":[null,"\ud800"]}}],"role":1},"configuration":{"historyLength":"5"}}`))
	f.Add([]byte(`{"metadata":{"":{}},"configuration":{"taskPushNotificationConfig":{"authentication":{"scheme":7}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		problem := params.Read("M", text, new(a2apb.SendMessageRequest))
		if problem != nil && strings.Contains(problem.Text, "proto") {
			t.Errorf("%s: %+v", text, problem)
		}
	})
}
