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

	"parley/internal/domain"
)

const defaultPage = 50

func (s *agentService) ListTasks(ctx context.Context, request *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
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
	sizes, err := s.host.cfg.Log.TaskSizes(ctx, who, filter)
	if err != nil {
		return nil, err
	}
	count, bytes := s.host.fitPage(sizes[:min(len(sizes), listed.PageSize)])
	if err := reservationFrom(ctx).take(ctx, who.Username, bytes); err != nil {
		return nil, err
	}
	filter.Limit = count
	found, total, err := s.host.cfg.Log.Tasks(ctx, who, filter)
	if err != nil {
		return nil, err
	}
	listed.TotalSize = total
	more := count < len(sizes)
	if request.IncludeArtifacts {
		if count, err = s.reservePage(ctx, who, found); err != nil {
			return nil, err
		}
		more = more || count < len(found)
		found = found[:count]
	}
	for _, stored := range found {
		task, err := s.listedTask(ctx, who, stored, request)
		if errors.Is(err, domain.ErrNotFound) {
			continue // deleted just now
		}
		if err != nil {
			return nil, err
		}
		listed.Tasks = append(listed.Tasks, task)
	}
	if more && len(found) > 0 {
		listed.NextPageToken = toToken(found[len(found)-1])
	}
	return listed, nil
}

// fitPage returns how many tasks of these sizes fit on a page, and the bytes that they have. A
// task larger than a page has a page of its own.
func (h *Host) fitPage(sizes []int) (count, bytes int) {
	for _, size := range sizes {
		if count > 0 && bytes+size > h.pageBytes {
			break
		}
		count, bytes = count+1, bytes+size
	}
	return count, bytes
}

// reservePage returns how many of the tasks fit on a page with their artifacts, and reserves
// memory for them.
func (s *agentService) reservePage(ctx context.Context, who domain.Caller, tasks []domain.Task) (int, error) {
	sizes := make([]int, 0, len(tasks))
	for _, task := range tasks {
		bytes, err := s.host.cfg.Log.ArtifactBytes(ctx, who, task.RunID)
		if err != nil {
			return 0, err
		}
		sizes = append(sizes, len(task.Snapshot)+bytes)
	}
	count, bytes := s.host.fitPage(sizes)
	return count, reservationFrom(ctx).take(ctx, who.Username, bytes)
}

func (s *agentService) listedTask(ctx context.Context, who domain.Caller, stored domain.Task, request *a2a.ListTasksRequest) (*a2a.Task, error) {
	if request.IncludeArtifacts {
		var err error
		if stored, err = s.host.cfg.Log.Task(ctx, who, s.agent.Name, stored.RunID, true); err != nil {
			return nil, err
		}
	}
	return withHistory(s.host.readTask(stored), request.HistoryLength), nil
}

func (s *agentService) toFilter(request *a2a.ListTasksRequest) (domain.TaskFilter, error) {
	filter := domain.TaskFilter{Agent: s.agent.Name, State: string(request.Status), Limit: request.PageSize}
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
func toToken(task domain.Task) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d/%s", task.UpdatedAt.UnixMilli(), task.RunID))
}

func toCursor(token string) (domain.Task, bool) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return domain.Task{}, false
	}
	millis, id, _ := strings.Cut(string(text), "/")
	at, err := strconv.ParseInt(millis, 10, 64)
	if err != nil {
		return domain.Task{}, false
	}
	runID, err := readID(id)
	return domain.Task{UpdatedAt: time.UnixMilli(at), RunID: runID}, err == nil
}
