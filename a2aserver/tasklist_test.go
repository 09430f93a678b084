package a2aserver

import (
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

// TestListPages reads all tasks in pages of each size: none is missing, none
// comes twice, and the last page says that it is the last.
func TestListPages(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s, _ := newHost(t, store, fourEvents).service("echo")
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
