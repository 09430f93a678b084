package client

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/domain"
)

// stateLife is how long the state of an upload is kept: longer than servers keep one.
const stateLife = 7 * 24 * time.Hour

// stateFile has the upload of one command, for a later run to resume. It has no token:
// the ids are of no use to another user.
type stateFile string

// newStateFile names the state of a command: by user, dataset, mode, options and files. A
// changed file has another state. The server does not count: it can have several addresses,
// and another one does not know the ids.
func newStateFile(user tokenUser, ref apiclient.Ref, mode string, options domain.IngestOptions, files []*apiclient.LocalFile) (stateFile, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for caches: %w", err)
	}
	hash := sha256.New()
	text, err := json.Marshal(options)
	if err != nil {
		return "", fmt.Errorf("encode the options: %w", err)
	}
	fmt.Fprintf(hash, "%q %q %q %s\n", user, ref.Path(""), mode, text)
	for _, file := range files {
		fmt.Fprintf(hash, "%q %d %d\n", file.Path, file.Size, file.Modified.UnixNano())
	}
	return stateFile(filepath.Join(cache, "parley", "uploads", hex.EncodeToString(hash.Sum(nil)[:16])+".json")), nil
}

// load returns the state, if it is valid for this number of files.
func (f stateFile) load(files int) (apiclient.Upload, bool) {
	var state apiclient.Upload
	text, err := os.ReadFile(string(f))
	if err != nil || json.Unmarshal(text, &state) != nil || state.SessionID == "" || state.IngestionID == "" || len(state.FileIDs) != files {
		return apiclient.Upload{}, false
	}
	return state, true
}

// save stores the state atomically and removes old ones.
func (f stateFile) save(state apiclient.Upload) error {
	dir := filepath.Dir(string(f))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f.clean(dir)
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return datadir.WriteFile(string(f), text)
}

func (f stateFile) clean(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > stateLife {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

func (f stateFile) remove() { _ = os.Remove(string(f)) }
