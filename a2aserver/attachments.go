package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"mime"
	"path"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/modes"
	"parley/a2aserver/params"
	"parley/internal/domain"
)

// Attachments says which files questions may bring.
type Attachments struct {
	// Save stores files, to be added with the run: see domain.Question.
	Save func(ctx context.Context, caller domain.Caller, conversationID string, files []domain.AttachedFile) ([]domain.Attachment, error)
	// MaxBytes limits the files of one message together.
	MaxBytes int64
	// Types are the media types of files, each with the ends of their names.
	Types map[string][]string
}

// attachmentKey is the metadata of a part whose file was taken out of its message.
const attachmentKey = "attachment"

// attached is the files that were taken out of a message. err says why one is refused.
type attached struct {
	files []domain.AttachedFile
	err   error
}

// detach takes the files out of the message of a request: stored messages have their names
// and hashes, and not their content.
func (s *agentService) detach(request *a2a.SendMessageRequest) (*a2a.SendMessageRequest, attached) {
	cfg := s.host.cfg.Attachments
	if cfg == nil || request.Message == nil || !slices.ContainsFunc(request.Message.Parts, isAttachment) {
		return request, attached{}
	}
	var taken attached
	message := *request.Message
	message.Parts = slices.Clone(message.Parts)
	for i, part := range message.Parts {
		if !isAttachment(part) {
			continue
		}
		var file domain.AttachedFile
		if file, taken.err = cfg.read(i, part); taken.err == nil {
			taken.err = cfg.checkLimits(taken.files, file)
		}
		if taken.err != nil {
			break
		}
		file.Dataset = taken.unique(domain.DatasetName(file.Filename))
		taken.files = append(taken.files, file)
		message.Parts[i] = withoutContent(part, file)
	}
	detached := *request
	detached.Message = &message
	return &detached, taken
}

// isAttachment reports whether a part is taken for a file.
func isAttachment(part *a2a.Part) bool {
	if part == nil {
		return false
	}
	switch content := part.Content.(type) {
	case a2a.Raw:
		return true
	case a2a.Data:
		rows, ok := content.Value.([]any)
		return ok && len(rows) > 0 && !slices.ContainsFunc(rows, func(row any) bool {
			_, isObject := row.(map[string]any)
			return !isObject
		})
	}
	return false
}

// withoutContent returns a part as it is stored.
func withoutContent(part *a2a.Part, file domain.AttachedFile) *a2a.Part {
	sum := sha256.Sum256(file.Content)
	stored := &a2a.Part{Content: a2a.Raw{}, Filename: file.Filename, MediaType: modes.MediaType(part), Metadata: map[string]any{}}
	maps.Copy(stored.Metadata, part.Metadata)
	stored.Metadata[attachmentKey] = map[string]any{
		"dataset": file.Dataset, "bytes": len(file.Content), "sha256": hex.EncodeToString(sum[:]),
	}
	return stored
}

// unique returns a name that no other file of the message has.
func (t attached) unique(name string) string {
	return domain.UniqueName(name, func(name string) bool {
		return slices.ContainsFunc(t.files, func(f domain.AttachedFile) bool { return strings.EqualFold(f.Dataset, name) })
	})
}

// read returns the file of a part, with a name that says its format as far as that is known.
func (c *Attachments) read(i int, part *a2a.Part) (domain.AttachedFile, error) {
	file := domain.AttachedFile{Filename: part.Filename}
	if problem := domain.CheckFilename(part.Filename); problem != "" && part.Filename != "" {
		return file, invalidField(fmt.Sprintf("message.parts[%d].filename", i), "%s", problem)
	}
	if data, ok := part.Content.(a2a.Data); ok {
		problem := checkValue(data.Value, params.MaxDepth)
		if problem == "" && !isExact(data.Value) {
			problem = "has a whole number of more than 15 digits, which JSON data may change; send it as a text, or the rows as a file"
		}
		if problem != "" {
			return file, invalidField(fmt.Sprintf("message.parts[%d]", i), "%s", problem)
		}
		text, err := json.Marshal(data.Value)
		if file.Content = text; err != nil {
			return file, fmt.Errorf("read the data of a part: %w", err)
		}
		file.Filename = withExtension(file.Filename, "data", []string{".json"})
		return file, nil
	}
	file.Content = part.Raw()
	if len(file.Content) == 0 {
		return file, invalidField(fmt.Sprintf("message.parts[%d].raw", i), "must not be empty")
	}
	media, _, _ := mime.ParseMediaType(part.MediaType)
	extensions, known := c.Types[media]
	switch {
	case known && !c.knows(part.Filename):
		file.Filename = withExtension(part.Filename, "attachment", extensions)
	case !known && part.MediaType != "" && media != "application/octet-stream" && !c.knows(part.Filename):
		return file, refusePart(i, part, "data can be attached as "+c.names())
	case part.Filename == "":
		file.Filename = "attachment"
	}
	return file, nil
}

// maxExact is up to where a float64 has every whole number.
const maxExact = 1 << 53

// isExact reports whether the whole numbers of a value, which was checked, are as they were
// sent.
func isExact(value any) bool {
	switch value := value.(type) {
	case float64:
		return math.Abs(value) < maxExact || value != math.Trunc(value)
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !isExact(item) })
	case map[string]any:
		for _, item := range value {
			if !isExact(item) {
				return false
			}
		}
	}
	return true
}

// withExtension returns a file's name, or another where it has none, that has one of some
// extensions.
func withExtension(name, other string, extensions []string) string {
	if name == "" {
		name = other
	}
	if slices.Contains(extensions, strings.ToLower(path.Ext(name))) {
		return name
	}
	return name + extensions[0]
}

// knows reports whether the name of a file says its format.
func (c *Attachments) knows(filename string) bool {
	extension := strings.ToLower(path.Ext(filename))
	for _, extensions := range c.Types {
		if slices.Contains(extensions, extension) {
			return true
		}
	}
	return false
}

func (c *Attachments) names() string {
	return strings.Join(slices.Sorted(maps.Keys(c.Types)), ", ")
}

// refusePart names the media type of a part that is not read, and says what to do.
func refusePart(i int, part *a2a.Part, instead string) error {
	media := shorten(modes.MediaType(part))
	return a2a.NewError(a2a.ErrUnsupportedContentType, fmt.Sprintf("message.parts[%d] is %s; %s", i, media, instead)).
		WithErrorInfoMeta(map[string]string{"mediaType": media})
}

// checkLimits limits the files of a message, with the next one.
func (c *Attachments) checkLimits(files []domain.AttachedFile, next domain.AttachedFile) error {
	if len(files) == domain.MaxMessageAttachments {
		return invalidField("message.parts", "must have at most %d files", domain.MaxMessageAttachments)
	}
	size := int64(len(next.Content))
	for _, file := range files {
		size += int64(len(file.Content))
	}
	if size > c.MaxBytes {
		return invalidField("message.parts", "must have files of at most %d bytes in all; upload larger ones as datasets", c.MaxBytes)
	}
	return nil
}

// checkParts refuses a message that has anything but text and files that were taken out of
// it: the agents would drop it.
func (s *agentService) checkParts(message *a2a.Message, taken attached) error {
	if taken.err != nil {
		return taken.err
	}
	reads := s.host.cfg.Attachments != nil
	for i, part := range message.Parts {
		switch content := part.Content.(type) {
		case a2a.Text:
		case a2a.Raw:
			if !reads {
				return refusePart(i, part, textOnly)
			}
		case a2a.Data:
			if !reads {
				return refusePart(i, part, textOnly)
			}
			return refusePart(i, part, "data must be an array of objects, each a row, not "+kindOfValue(content.Value))
		default:
			return refusePart(i, part, "files behind a url are not fetched; send the bytes in a raw part, or upload the file as a dataset")
		}
	}
	return nil
}

const textOnly = "this agent reads text parts only"

// kindOfValue says what a JSON value is.
func kindOfValue(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "one object"
	case []any:
		if len(value) == 0 {
			return "an empty one"
		}
		return "one of other values"
	}
	return "a single value"
}

// checkStructure refuses a request of this size that is too large without its files.
func (c *Config) checkStructure(size int, withoutFiles func() int) error {
	if c.MaxStructure > 0 && size > c.MaxStructure && withoutFiles() > c.MaxStructure {
		return invalidField("message.parts", "must be at most %d bytes without raw parts; send a large table as a file in one", c.MaxStructure)
	}
	return nil
}
