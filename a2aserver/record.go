package a2aserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage"
)

// encode encodes an event as it is stored and sent.
func encode(number int64, event a2a.Event) (storage.Event, error) {
	body, err := appendEvent(make([]byte, 0, 512), event)
	if err != nil {
		return storage.Event{}, fmt.Errorf("encode an event: %w", err)
	}
	return storage.Event{Number: number, Kind: kindOf(event), Body: body}, nil
}

func kindOf(event a2a.Event) storage.EventKind {
	switch event.(type) {
	case *a2a.Task:
		return storage.EventTask
	case *a2a.TaskArtifactUpdateEvent:
		return storage.EventArtifact
	case *a2a.Message:
		return storage.EventMessage
	default:
		return storage.EventStatus
	}
}

// decode reads a stored event. The data of artifacts stays a json.RawMessage.
func decode(kept storage.Event) (a2a.Event, error) {
	if kept.Kind == storage.EventArtifact {
		return decodeArtifact(kept.Body)
	}
	var read a2a.StreamResponse
	if err := json.Unmarshal(kept.Body, &read); err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	return read.Event, nil
}

type artifactUpdateJSON struct {
	ArtifactUpdate struct {
		TaskID    a2a.TaskID     `json:"taskId"`
		ContextID string         `json:"contextId"`
		Artifact  artifactJSON   `json:"artifact"`
		Append    bool           `json:"append"`
		LastChunk bool           `json:"lastChunk"`
		Metadata  map[string]any `json:"metadata"`
	} `json:"artifactUpdate"`
}

type artifactJSON struct {
	ID          a2a.ArtifactID `json:"artifactId"`
	Description string         `json:"description"`
	Extensions  []string       `json:"extensions"`
	Metadata    map[string]any `json:"metadata"`
	Name        string         `json:"name"`
	Parts       []partJSON     `json:"parts"`
}

type partJSON struct {
	Data json.RawMessage `json:"data"`
	part *a2a.Part
}

// UnmarshalJSON reads a part without decoding its data.
func (p *partJSON) UnmarshalJSON(text []byte) error {
	var data struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &data); err != nil {
		return err
	}
	p.part = &a2a.Part{}
	if data.Data == nil {
		return p.part.UnmarshalJSON(text)
	}
	var rest struct {
		Filename  string         `json:"filename"`
		MediaType string         `json:"mediaType"`
		Metadata  map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(text, &rest); err != nil {
		return err
	}
	*p.part = a2a.Part{Content: a2a.Data{Value: data.Data}, Filename: rest.Filename, MediaType: rest.MediaType, Metadata: rest.Metadata}
	return nil
}

func decodeArtifact(body []byte) (a2a.Event, error) {
	var read artifactUpdateJSON
	if err := json.Unmarshal(body, &read); err != nil {
		return nil, fmt.Errorf("decode an artifact: %w", err)
	}
	update, artifact := read.ArtifactUpdate, read.ArtifactUpdate.Artifact
	parts := make(a2a.ContentParts, len(artifact.Parts))
	for i, p := range artifact.Parts {
		parts[i] = p.part
	}
	return &a2a.TaskArtifactUpdateEvent{
		TaskID: update.TaskID, ContextID: update.ContextID, Append: update.Append, LastChunk: update.LastChunk, Metadata: update.Metadata,
		Artifact: &a2a.Artifact{
			ID: artifact.ID, Description: artifact.Description, Extensions: artifact.Extensions,
			Metadata: artifact.Metadata, Name: artifact.Name, Parts: parts,
		},
	}, nil
}

// snapshot encodes a task without its artifacts.
func snapshot(task *a2a.Task) (json.RawMessage, error) {
	bare := *task
	bare.Artifacts = nil
	text, err := appendTask(make([]byte, 0, 512), &bare)
	if err != nil {
		return nil, fmt.Errorf("encode a task: %w", err)
	}
	return text, nil
}

// toTask decodes a stored task.
func toTask(kept storage.Task) (*a2a.Task, error) {
	var task a2a.Task
	if err := json.Unmarshal(kept.Snapshot, &task); err != nil {
		return nil, fmt.Errorf("decode a task: %w", err)
	}
	for _, event := range kept.Artifacts {
		update, err := decode(event)
		if err != nil {
			return nil, err
		}
		fold(&task, update)
	}
	return &task, nil
}

// fold applies an event to a task. It does not modify what the task held before, which
// other goroutines may read.
func fold(task *a2a.Task, event a2a.Event) {
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

// withHistory gives a task with at most the last messages of its history.
func withHistory(task *a2a.Task, length *int) *a2a.Task {
	if length == nil || *length >= len(task.History) {
		return task
	}
	cut := *task
	cut.History = task.History[len(task.History)-*length:]
	return &cut
}

// stamp sets the ids of the run and the time, in milliseconds, of an event.
func stamp(event a2a.Event, info a2a.TaskInfo, now time.Time) {
	now = now.UTC().Truncate(time.Millisecond)
	switch e := event.(type) {
	case *a2a.Task:
		e.ID, e.ContextID = info.TaskID, info.ContextID
		e.Status.Timestamp = &now
	case *a2a.TaskStatusUpdateEvent:
		e.TaskID, e.ContextID = info.TaskID, info.ContextID
		e.Status.Timestamp = &now
	case *a2a.TaskArtifactUpdateEvent:
		e.TaskID, e.ContextID = info.TaskID, info.ContextID
	}
}
