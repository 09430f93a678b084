package a2aserver

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage"
)

const (
	defaultPage = 50
	// maxPageBytes ends a page early: tasks may have large artifacts.
	maxPageBytes = 8 << 20
)

func (s *agentService) ListTasks(ctx context.Context, request *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	request = orEmpty(request)
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkList(request); err != nil {
		return nil, err
	}
	filter, err := s.toFilter(request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	listed := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: filter.Limit}
	if filter.ConversationID, err = conversationID(who, s.agent.Name, request.ContextID); err != nil {
		return listed, nil // no task has such a context
	}
	filter.Limit++ // to know whether there are more
	found, total, err := s.host.cfg.Log.Tasks(ctx, who, filter)
	if err != nil {
		return nil, err
	}
	listed.TotalSize = total
	at, bytes, count := -1, 0, min(len(found), listed.PageSize)
	if request.IncludeArtifacts {
		if count, err = s.reservePage(ctx, who, found[:count]); err != nil {
			return nil, err
		}
	}
	for at+1 < count && bytes <= maxPageBytes {
		at++
		task, size, err := s.listedTask(ctx, who, found[at], request)
		if errors.Is(err, storage.ErrNotFound) {
			continue // deleted just now
		}
		if err != nil {
			return nil, err
		}
		listed.Tasks = append(listed.Tasks, task)
		bytes += size
	}
	if at >= 0 && at+1 < len(found) {
		listed.NextPageToken = toToken(found[at])
	}
	return listed, nil
}

// reservePage gives how many of the tasks, with their artifacts, fit on a page, and
// reserves memory for them. A task larger than a page has a page of its own.
func (s *agentService) reservePage(ctx context.Context, who storage.Caller, tasks []storage.Task) (count int, err error) {
	bytes := 0
	for _, task := range tasks {
		more, err := s.host.cfg.Log.ArtifactBytes(ctx, who, task.RunID)
		if err != nil {
			return 0, err
		}
		if count > 0 && bytes+more > maxPageBytes {
			break
		}
		count, bytes = count+1, bytes+more
	}
	return count, reservationFrom(ctx).take(ctx, who.Username, bytes)
}

// listedTask gives a task as an item of a list, and its size.
func (s *agentService) listedTask(ctx context.Context, who storage.Caller, stored storage.Task, request *a2a.ListTasksRequest) (*a2a.Task, int, error) {
	if request.IncludeArtifacts {
		var err error
		if stored, err = s.host.cfg.Log.Task(ctx, who, s.agent.Name, stored.RunID, true); err != nil {
			return nil, 0, err
		}
	}
	return withHistory(s.host.readTask(stored), request.HistoryLength), size(stored), nil
}

func size(stored storage.Task) int {
	bytes := len(stored.Snapshot)
	for _, event := range stored.Artifacts {
		bytes += len(event.Body)
	}
	return bytes
}

func (s *agentService) toFilter(request *a2a.ListTasksRequest) (storage.TaskFilter, error) {
	filter := storage.TaskFilter{Agent: s.agent.Name, State: string(request.Status), Limit: request.PageSize}
	if filter.Limit == 0 {
		filter.Limit = defaultPage
	}
	if request.StatusTimestampAfter != nil {
		filter.StatusSince = *request.StatusTimestampAfter
	}
	if request.PageToken != "" {
		var ok bool
		if filter.After, ok = toCursor(request.PageToken); !ok {
			return filter, invalidField("pageToken", "is not one that was given")
		}
	}
	return filter, nil
}

// toToken encodes the position after a task as a page token.
func toToken(task storage.Task) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d/%s", task.UpdatedAt.UnixMilli(), task.RunID))
}

func toCursor(token string) (storage.Task, bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return storage.Task{}, false
	}
	millis, id, _ := strings.Cut(string(text), "/")
	at, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return storage.Task{}, false
	}
	runID, err := readID(id)
	return storage.Task{UpdatedAt: time.UnixMilli(at), RunID: runID}, err == nil
}
