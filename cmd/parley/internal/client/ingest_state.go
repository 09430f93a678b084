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
)

// stateLife is how long what is known of an upload is kept: longer than servers
// keep one that does not go on.
const stateLife = 7 * 24 * time.Hour

// stateFile is where the upload of one command is kept, for a later run to go on
// with when it was broken off. It holds no token: to another user the ids are of no
// use.
type stateFile string

// newStateFile names the state of a command: of this server, user, dataset, mode and
// these files as they are. A file that has changed since makes another one.
func newStateFile(server string, user tokenUser, ref apiclient.Ref, mode string, files []*apiclient.LocalFile) (stateFile, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for caches: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q %q\n", server, user, ref.Path(""), mode)
	for _, file := range files {
		fmt.Fprintf(hash, "%q %d %d\n", file.Path, file.Size, file.Modified.UnixNano())
	}
	return stateFile(filepath.Join(cache, "parley", "uploads", hex.EncodeToString(hash.Sum(nil)[:16])+".json")), nil
}

// load gives the state for so many files, if there is one that makes sense.
func (f stateFile) load(files int) (apiclient.Upload, bool) {
	var state apiclient.Upload
	text, err := os.ReadFile(string(f))
	if err != nil || json.Unmarshal(text, &state) != nil || state.SessionID == "" || state.IngestionID == "" || len(state.FileIDs) != files {
		return apiclient.Upload{}, false
	}
	return state, true
}

// save keeps the state, whole or not at all, and clears away what is old.
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

// remove forgets the state.
func (f stateFile) remove() { _ = os.Remove(string(f)) }
