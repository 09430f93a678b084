package a2ajson

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
)

// Encode encodes an event as it is stored and sent.
func Encode(number int64, event a2a.Event) (domain.Event, error) {
	body, err := AppendEvent(make([]byte, 0, 512), event)
	if err != nil {
		return domain.Event{}, fmt.Errorf("encode an event: %w", err)
	}
	return domain.Event{Number: number, Kind: kindOf(event), Body: body}, nil
}

func kindOf(event a2a.Event) domain.EventKind {
	switch event.(type) {
	case *a2a.Task:
		return domain.EventTask
	case *a2a.TaskArtifactUpdateEvent:
		return domain.EventArtifact
	case *a2a.Message:
		return domain.EventMessage
	default:
		return domain.EventStatus
	}
}

// Decode reads a stored event. The data of artifacts stays a json.RawMessage.
func Decode(stored domain.Event) (a2a.Event, error) {
	if stored.Kind == domain.EventArtifact {
		return decodeArtifact(stored.Body)
	}
	var read a2a.StreamResponse
	if err := unmarshal(stored.Body, &read); err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	return read.Event, nil
}

// unmarshal reads a stored document of the SDK's types.
func unmarshal[T any](text []byte, into *T) error {
	err := json.Unmarshal(text, into)
	if err == nil {
		return nil
	}
	readable, repairErr := withoutEmptyParts(text)
	if repairErr != nil {
		return err
	}
	var zero T
	*into = zero
	return json.Unmarshal(readable, into)
}

// artifactUpdateJSON shadows the parts of the SDK's types.
type artifactUpdateJSON struct {
	ArtifactUpdate struct {
		a2a.TaskArtifactUpdateEvent
		Artifact struct {
			a2a.Artifact
			Parts []partJSON `json:"parts"`
		} `json:"artifact"`
	} `json:"artifactUpdate"`
}

type partJSON struct{ *a2a.Part }

// UnmarshalJSON reads a part without decoding its data.
func (p *partJSON) UnmarshalJSON(text []byte) error {
	var read struct {
		Data      json.RawMessage `json:"data"`
		Filename  string          `json:"filename"`
		MediaType string          `json:"mediaType"`
		Metadata  map[string]any  `json:"metadata"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	if read.Data == nil {
		p.Part = &a2a.Part{}
		return p.Part.UnmarshalJSON(text)
	}
	p.Part = &a2a.Part{Content: a2a.Data{Value: read.Data}, Filename: read.Filename, MediaType: read.MediaType, Metadata: read.Metadata}
	return nil
}

func decodeArtifact(body []byte) (a2a.Event, error) {
	var read artifactUpdateJSON
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("decode an artifact: %w", err)
	}
	update := read.ArtifactUpdate.TaskArtifactUpdateEvent
	update.Artifact = &read.ArtifactUpdate.Artifact.Artifact
	update.Artifact.Parts = make(a2a.ContentParts, len(read.ArtifactUpdate.Artifact.Parts))
	for i, part := range read.ArtifactUpdate.Artifact.Parts {
		update.Artifact.Parts[i] = part.Part
	}
	return &update, nil
}

// Snapshot encodes a task without its artifacts.
func Snapshot(task *a2a.Task) (json.RawMessage, error) {
	bare := *task
	bare.Artifacts = nil
	text, err := AppendTask(make([]byte, 0, 512), &bare)
	if err != nil {
		return nil, fmt.Errorf("encode a task: %w", err)
	}
	return text, nil
}

// ReadTask decodes a stored task. With an error, the task has what could be read.
func ReadTask(stored domain.Task) (*a2a.Task, error) {
	var task a2a.Task
	err := unmarshal(stored.Snapshot, &task)
	if err != nil {
		err = fmt.Errorf("decode a task: %w", err)
		updated := stored.UpdatedAt.UTC()
		task = a2a.Task{Status: a2a.TaskStatus{State: a2a.TaskState(stored.State), Timestamp: &updated}}
	}
	task.ID, task.ContextID = a2a.TaskID(stored.RunID), cmp.Or(task.ContextID, stored.ConversationID)
	for _, event := range stored.Artifacts {
		update, decodeErr := Decode(event)
		if decodeErr != nil {
			err = errors.Join(err, decodeErr)
			continue
		}
		Fold(&task, update)
	}
	return &task, err
}

// Fold applies an event to a task. It does not modify what the task held before, which
// other goroutines may read.
func Fold(task *a2a.Task, event a2a.Event) {
	switch e := event.(type) {
	case *a2a.Task:
		*task = *e
	case *a2a.TaskStatusUpdateEvent:
		if task.Status.Message != nil {
			task.History = append(slices.Clip(task.History), task.Status.Message)
		}
		task.Status = e.Status
		if len(e.Metadata) > 0 {
			metadata := maps.Clone(task.Metadata)
			if metadata == nil {
				metadata = map[string]any{}
			}
			maps.Copy(metadata, e.Metadata)
			task.Metadata = metadata
		}
	case *a2a.TaskArtifactUpdateEvent:
		foldArtifact(task, e)
	}
}

func foldArtifact(task *a2a.Task, update *a2a.TaskArtifactUpdateEvent) {
	at := slices.IndexFunc(task.Artifacts, func(a *a2a.Artifact) bool { return a.ID == update.Artifact.ID })
	if at < 0 {
		task.Artifacts = append(slices.Clip(task.Artifacts), update.Artifact)
		return
	}
	folded := *update.Artifact
	if update.Append {
		folded = *task.Artifacts[at]
		folded.Parts = append(slices.Clip(folded.Parts), update.Artifact.Parts...)
	}
	task.Artifacts = slices.Clone(task.Artifacts)
	task.Artifacts[at] = &folded
}
