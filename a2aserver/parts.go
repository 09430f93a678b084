package a2aserver

import (
	"cmp"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// checkText refuses a message that has anything but text: the agents would drop it.
func checkText(message *a2a.Message) error {
	for i, part := range message.Parts {
		if _, ok := part.Content.(a2a.Text); ok {
			continue
		}
		media := mediaType(part)
		return a2a.NewError(a2a.ErrUnsupportedContentType,
			fmt.Sprintf("message.parts[%d] is %s; this agent reads text parts only", i, shorten(media)),
		).WithErrorInfoMeta(map[string]string{"mediaType": shorten(media)})
	}
	return nil
}

// mediaType gives the media type of a part, or that of its kind.
func mediaType(part *a2a.Part) string {
	kind := "application/octet-stream"
	switch part.Content.(type) {
	case a2a.Text:
		kind = mediaPlain
	case a2a.Data:
		kind = mediaJSON
	}
	return cmp.Or(part.MediaType, kind)
}
