package llm

import (
	"strings"
	"testing"
)

func FuzzAssemble(f *testing.F) {
	f.Add(`data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n")
	f.Add(`data: {"type":"content_block_delta","index":-1,"delta":{"partial_json":"{"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n")
	f.Add(`{"message":{"content":"x"},"done":true}` + "\n")
	f.Fuzz(func(t *testing.T, stream string) {
		for _, p := range providers {
			for _, sse := range []bool{true, false} {
				answer, err := p.readEvents(strings.NewReader(stream), sse)
				if err == nil && (!answer.complete || len(answer.body()) == 0) {
					t.Errorf("%s: %q is taken for whole", p.name, stream)
				}
			}
		}
	})
}
