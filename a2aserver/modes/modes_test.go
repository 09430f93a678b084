package modes

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestRead(t *testing.T) {
	t.Parallel()
	text, markdown, data := Accepted{text: true}, Accepted{text: true, markdown: true}, Accepted{data: true}
	for accepted, want := range map[string]*Accepted{
		"": nil, "*/*": nil, "image/png,*/*": nil, "text/*,application/json": nil,
		"text/plain": &text, "TEXT/Plain; charset=utf-8": &text, "text": &text, " Text ": &text, "image/*,text/plain": &text,
		"text/markdown": &markdown, "text/*": &markdown,
		"data": &data, "application/json;q=0.5": &data, "application/*": &data, "video/mp4,DATA": &data,
		"text,data": {text: true, data: true},
	} {
		var list []string
		if accepted != "" {
			list = strings.Split(accepted, ",")
		}
		got, err := Read(list)
		if err != nil || (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, %v", accepted, got, err)
		}
	}
	for _, accepted := range []string{"image/*", "image/png", "video", "text/html", "application/xml", ""} {
		if _, err := Read([]string{accepted}); !errors.Is(err, a2a.ErrUnsupportedContentType) {
			t.Errorf("%s: %v", accepted, err)
		}
	}
}
