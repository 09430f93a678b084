package a2ajson

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// What is written by hand reads as what the SDK writes.
func TestEncodeAsTheSDK(t *testing.T) {
	t.Parallel()
	random := maker{rand.New(rand.NewPCG(1, 2))}
	for i := range 2000 {
		event := random.event()
		got, err := AppendEvent(nil, event)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(a2a.StreamResponse{Event: event})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tree(t, want), tree(t, got)); diff != "" {
			t.Fatalf("event %d (- the SDK's, + ours):\n%s", i, diff)
		}
		if bytes.ContainsAny(got, "\n\r") {
			t.Fatalf("event %d has a line end: %s", i, got)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]*a2a.Part{
		"function":   a2a.NewDataPart(func() {}),
		"no content": {},
		"no JSON":    a2a.NewDataPart(json.RawMessage(`{"a":`)),
	} {
		event := a2a.NewArtifactEvent(a2a.TaskInfo{}, part)
		if text, err := AppendEvent(nil, event); err == nil {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func tree(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// maker makes things at random.
type maker struct{ *rand.Rand }

func (m maker) event() a2a.Event {
	now := time.Unix(m.Int64N(1<<32), (m.Int64N(100)*10+1)*1e6).UTC()
	status := a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &now}
	if m.IntN(2) == 0 {
		status.Message = m.message()
	}
	if m.IntN(5) == 0 {
		status = a2a.TaskStatus{}
	}
	switch m.IntN(4) {
	case 0:
		return m.message()
	case 1:
		return &a2a.TaskStatusUpdateEvent{TaskID: a2a.TaskID(m.word()), ContextID: m.word(), Status: status, Metadata: m.metadata()}
	case 2:
		return &a2a.TaskArtifactUpdateEvent{
			TaskID: a2a.TaskID(m.word()), ContextID: m.word(), Artifact: m.artifact(),
			Append: m.IntN(2) == 0, LastChunk: m.IntN(2) == 0, Metadata: m.metadata(),
		}
	}
	task := &a2a.Task{ID: a2a.TaskID(m.word()), ContextID: m.word(), Status: status, Metadata: m.metadata()}
	for range m.IntN(3) {
		task.History = append(task.History, m.message())
		task.Artifacts = append(task.Artifacts, m.artifact())
	}
	return task
}

func (m maker) word() string {
	words := []string{"", "plain", "a\"b\\c", "line\nend\r\t\x00", "<b>&amp;</b>", "żółw 🐢 \u2028", "broken \xff\xfe", strings.Repeat("long ", 20)}
	return words[m.IntN(len(words))]
}

func (m maker) message() *a2a.Message {
	message := &a2a.Message{
		ID: m.word(), ContextID: m.word(), TaskID: a2a.TaskID(m.word()), Role: a2a.MessageRoleAgent, Metadata: m.metadata(), Parts: m.parts(),
	}
	if m.IntN(3) == 0 {
		message.Role, message.Extensions, message.ReferenceTasks = "", []string{m.word()}, []a2a.TaskID{a2a.TaskID(m.word())}
	}
	return message
}

func (m maker) artifact() *a2a.Artifact {
	artifact := &a2a.Artifact{ID: a2a.ArtifactID(m.word()), Name: m.word(), Description: m.word(), Metadata: m.metadata(), Parts: m.parts()}
	if m.IntN(3) == 0 {
		artifact.Extensions = []string{m.word(), m.word()}
	}
	return artifact
}

func (m maker) parts() a2a.ContentParts {
	parts := a2a.ContentParts{}
	for range m.IntN(4) {
		part := []*a2a.Part{
			a2a.NewTextPart(m.word()),
			a2a.NewDataPart(json.RawMessage(`{"b":[1,"<"],"a":null}`)),
			a2a.NewDataPart(map[string]any{m.word(): 1.5}),
			a2a.NewDataPart(nil),
			a2a.NewRawPart([]byte(m.word())),
			a2a.NewFileURLPart("https://example.com/<x>", m.word()),
		}[m.IntN(6)]
		if m.IntN(3) == 0 {
			part.Filename, part.MediaType, part.Metadata = m.word(), m.word(), m.metadata()
		}
		parts = append(parts, part)
	}
	return parts
}

func (m maker) metadata() map[string]any {
	if m.IntN(3) > 0 {
		return nil
	}
	return map[string]any{m.word(): m.word(), "n": m.Float64()}
}
