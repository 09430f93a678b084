package objects_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/storage"
	"parley/storage/objects"
)

// nothingStale is for records in which every session is young.
type nothingStale struct{ storage.Uploads }

func (nothingStale) AbortStaleUploads(context.Context, time.Duration, int) ([]storage.UploadSession, error) {
	return nil, nil
}

// What is old by one clock alone stays, for the machine's may have been set.
func TestSweepByClocks(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		// records is how far the records' clock is ahead of the machine's, age how old
		// a part is by the latter.
		records, age time.Duration
		stays        bool
	}{
		"young":                            {0, time.Hour, true},
		"old":                              {0, 2 * day, false},
		"the machine's was set forward":    {-2 * day, 2*day + time.Hour, true},
		"and the part is old all the same": {-2 * day, 4 * day, false},
		"the machine's is behind":          {2 * day, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
			sendPart(t, folder, begin(t, folder, "a"), 1, []byte("part"))
			stage, then := stageOf(t, dir), time.Now().Add(-test.age)
			for _, path := range []string{filepath.Join(stage, "00001"), stage} {
				if err := os.Chtimes(path, then, then); err != nil {
					t.Fatal(err)
				}
			}
			uploads := objects.NewUploads(objects.UploadsConfig{
				Records: nothingStale{}, Objects: folder, Stale: day, Now: func() time.Time { return time.Now().Add(test.records) },
			})
			if err := uploads.AbortStale(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(stage); (err == nil) != test.stays {
				t.Errorf("the upload: %v, want it to stay: %v", err, test.stays)
			}
		})
	}
}
