package a2aserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/fair"
	"parley/storage/sqlstore"
)

// TestListPages reads all tasks in pages of each size: none is missing, none
// comes twice, and the last page says that it is the last.
func TestListPages(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, fourEvents).service("echo")
		var sent []a2a.TaskID
		for range 4 {
			result, err := s.SendMessage(as(t, alice), toShop("How many?"))
			if err != nil {
				t.Fatal(err)
			}
			sent = append(sent, result.(*a2a.Task).ID)
		}
		for size, want := range map[int][]int{1: {1, 1, 1, 1}, 2: {2, 2}, 3: {3, 1}, 4: {4}, 100: {4}} {
			var pages []int
			var listed []a2a.TaskID
			for token := ""; len(pages) == 0 || token != "" && len(pages) < 9; {
				page, err := s.ListTasks(as(t, alice), &a2a.ListTasksRequest{PageSize: size, PageToken: token})
				if err != nil {
					t.Fatal(err)
				}
				for _, task := range page.Tasks {
					listed = append(listed, task.ID)
				}
				if page.PageSize != size || page.TotalSize != len(sent) {
					t.Errorf("a page of %d of %d", page.PageSize, page.TotalSize)
				}
				pages, token = append(pages, len(page.Tasks)), page.NextPageToken
			}
			slices.Sort(listed)
			if !slices.Equal(pages, want) || !slices.Equal(listed, slices.Sorted(slices.Values(sent))) {
				t.Errorf("pages of %d have %v, want %v, and hold %q", size, pages, want, listed)
			}
		}
	})
}

// TestListLargeTasks lists tasks that are large without their artifacts: a page ends where
// it is full, and waits for the memory of its tasks.
func TestListLargeTasks(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reads := fair.New(fair.Config{What: "large answers", Slots: 64 << 20, SlotsPerUser: 16 << 20})
		h := newHost(t, store, script(func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			message := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(strings.Repeat("x", 300<<10)))
			yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateCompleted, message), nil)
		}), func(cfg *Config) { cfg.Reads = reads })
		h.pageBytes = 800 << 10
		server := serveHost(t, h)
		post := func(method string, params any) (int, string) {
			response := postAs(t, server, alice, rpcText(method, params))
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response.StatusCode, string(text)
		}
		for range 3 {
			if status, text := post("SendMessage", toShop("How many?")); status != http.StatusOK {
				t.Fatalf("%d %.200s", status, text)
			}
		}
		for _, artifacts := range []bool{false, true} {
			var pages []int
			listed := map[a2a.TaskID]bool{}
			for token := ""; len(pages) == 0 || token != "" && len(pages) < 9; {
				status, text := post("ListTasks", map[string]any{"pageSize": 100, "pageToken": token, "includeArtifacts": artifacts})
				var page struct{ Result a2a.ListTasksResponse }
				if err := json.Unmarshal([]byte(text), &page); err != nil || status != http.StatusOK {
					t.Fatalf("%d %.200s, %v", status, text, err)
				}
				for _, task := range page.Result.Tasks {
					listed[task.ID] = true
				}
				pages, token = append(pages, len(page.Result.Tasks)), page.Result.NextPageToken
			}
			if !slices.Equal(pages, []int{2, 1}) || len(listed) != 3 {
				t.Errorf("pages have %v, %d tasks in all", pages, len(listed))
			}
		}
		defer reads.AcquireUnboundedN("alice", 16<<20).Release()
		if status, text := post("ListTasks", map[string]any{}); status != http.StatusTooManyRequests {
			t.Errorf("without memory: %d %.200s", status, text)
		}
	})
}
