package objects_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/internal/domain"
	"parley/storage/objects"
)

// A folder that vanishes, whole or in part, is unavailable: no operation reports success
// or that something is not found, and nothing is created in its place. It works again
// once it is back.
func TestFolderVanishes(t *testing.T) {
	t.Parallel()
	type change func(from, to string) error
	copyTo := func(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }
	moveOut := change(os.Rename)
	remove := func(from, to string) error { return errors.Join(copyTo(from, to), os.RemoveAll(from)) }
	for name, test := range map[string]struct {
		gone      string
		out, back change
	}{
		"folder moved":    {".", moveOut, moveOut},
		"folder replaced": {".", moveOut, copyTo},
		"folder removed":  {".", remove, copyTo},
		"objects moved":   {"objects", moveOut, moveOut},
		"objects removed": {"objects", remove, copyTo},
		"staging removed": {"staging", remove, copyTo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
			put(t, folder, "a/b", []byte("kept"))
			upload := begin(t, folder, "a/c")
			content := file(t, []byte("new"))
			moved := filepath.Join(t.TempDir(), "moved")
			if err := test.out(filepath.Join(dir, test.gone), moved); err != nil {
				t.Fatal(err)
			}
			plan := objects.Plan{Size: 1, PartSize: 1}
			for what, do := range map[string]func() error{
				"ping":   func() error { return folder.Ping(t.Context()) },
				"put":    func() error { return folder.PutFile(t.Context(), "a/d", content) },
				"begin":  func() error { _, err := folder.Begin(t.Context(), "a/e"); return err },
				"abort":  func() error { return folder.Abort(t.Context(), upload) },
				"sweep":  func() error { _, err := folder.Sweep(t.Context(), time.Now()); return err },
				"absent": func() error { return folder.Delete(t.Context(), "a/x") },
			} {
				if err := do(); !errors.Is(err, domain.ErrUnavailable) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if test.gone != "staging" {
				_, err := folder.Path(t.Context(), "a/b")
				wantKind(t, err, domain.ErrUnavailable)
			}
			if name == "folder removed" { // one that was moved can still be read
				_, _, err := folder.Open(t.Context(), "a/b")
				wantKind(t, err, domain.ErrUnavailable)
				_, err = folder.Stored(t.Context(), upload, plan)
				wantKind(t, err, domain.ErrUnavailable)
				err = folder.Complete(t.Context(), upload, plan, []objects.Part{{Number: 1, ETag: "x"}})
				wantKind(t, err, domain.ErrUnavailable)
				if got := send(t, http.MethodPut, partURL(t, folder, upload, 1, 1), []byte("x")); got.status != http.StatusServiceUnavailable {
					t.Errorf("a part: %+v", got)
				}
			}
			if err := test.back(moved, filepath.Join(dir, test.gone)); err != nil {
				t.Fatal(err)
			}
			_ = folder.Ping(t.Context()) // may say once more that the folder is another one
			if err := folder.Ping(t.Context()); err != nil {
				t.Fatalf("ping once it is back: %v", err)
			}
			reader, _, err := folder.Open(t.Context(), "a/b")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(reader)
			if err = errors.Join(err, reader.Close()); err != nil || string(got) != "kept" {
				t.Errorf("read %q, %v", got, err)
			}
			put(t, folder, "a/d", []byte("new"))
			if parts, err := folder.Stored(t.Context(), upload, plan); err != nil || len(parts) != 0 {
				t.Errorf("parts %v, %v", parts, err)
			}
		})
	}
}
