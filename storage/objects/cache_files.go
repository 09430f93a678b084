package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"parley/internal/domain"
)

const (
	// fetchTimeout bounds the fetch of one file.
	fetchTimeout = time.Hour
	// fetchPrefix begins the names of files that are being fetched.
	fetchPrefix = ".fetch-"
)

var (
	errCacheClosed = domain.Errorf(domain.ErrUnavailable, "the server is shutting down")
	// errWrong says that a file is not the one in the records.
	errWrong = errors.New("not the recorded bytes")
)

// startFetch checks a file in the background, and fetches it if it is missing or wrong.
// No caller's context ends that. The caller holds the lock.
func (c *Cache) startFetch(f *cached, file domain.DataFile) {
	running := &fetch{done: make(chan struct{})}
	f.fetch = running
	c.hold(f)
	c.fetches.Go(func() {
		c.fetchSlots <- struct{}{}
		err := c.obtain(file)
		<-c.fetchSlots
		c.mu.Lock()
		defer c.mu.Unlock()
		if running.err = err; err == nil {
			f.verified = c.modTime(f)
			delete(c.damaged, file.Key)
		} else {
			c.remove(f)
			c.signalFreed()
		}
		close(running.done)
		f.fetch = nil
		c.unhold(f)
	})
}

// obtain verifies a file. It fetches a missing or wrong one, at most twice.
func (c *Cache) obtain(file domain.DataFile) error {
	err := c.verify(file)
	for try := 0; err != nil && try < 2; try++ {
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errWrong):
			c.countFailure("cached file is wrong, fetching it again", file, err)
		case isFull(err):
			c.countFailure("disk full, evicting cached files", file, err)
			c.makeRoom(file.Bytes)
		default:
			c.countFailure("file not fetched", file, err)
			return neutral(err)
		}
		err = c.fetch(file)
	}
	if err == nil {
		return nil
	}
	c.countFailure("file cannot be fetched", file, err)
	if errors.Is(err, errWrong) {
		c.mu.Lock()
		c.damaged[file.Key] = true
		c.mu.Unlock()
		return domain.ErrDamaged
	}
	if isFull(err) {
		return domain.Errorf(domain.ErrUnavailable, "there is no room for the data on this server's disk; try again later")
	}
	return neutral(err)
}

// neutral hides what only an operator should know.
func neutral(err error) error {
	if errors.Is(err, context.Canceled) {
		return errCacheClosed
	}
	return domain.Errorf(domain.ErrUnavailable, "the data cannot be read now; try again")
}

func (c *Cache) countFailure(message string, file domain.DataFile, err error) {
	c.mu.Lock()
	c.stats.Failures++
	c.mu.Unlock()
	if c.closing.Err() == nil {
		c.cfg.Log.Error(message, "key", file.Key, "error", err)
	}
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// makeRoom evicts at least so many bytes, if there are as many that nobody needs.
func (c *Cache) makeRoom(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.evict(c.stats.Bytes - bytes)
}

// verify compares a local file with the records.
func (c *Cache) verify(file domain.DataFile) error {
	from, err := os.Open(c.path(file.Key))
	if err != nil {
		return err
	}
	defer from.Close()
	if err = copyVerified(io.Discard, from, file); err != nil && !errors.Is(err, errWrong) {
		err = fmt.Errorf("%w: %w", errWrong, err)
	}
	return err
}

// copyVerified copies a file's bytes and compares them with the records: by hash, or by
// size where those have none.
func copyVerified(to io.Writer, from io.Reader, file domain.DataFile) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, file.Bytes+1))
	if err != nil {
		return err
	}
	if n != file.Bytes {
		return fmt.Errorf("%w: %d bytes or more, not %d", errWrong, n, file.Bytes)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); file.SHA256 != "" && got != file.SHA256 {
		return fmt.Errorf("%w: its hash is %s, not %s", errWrong, got, file.SHA256)
	}
	return nil
}

// fetch stores a local copy of an object, if it is right. Workers, which may be another
// user, can read it.
func (c *Cache) fetch(file domain.DataFile) error {
	ctx, cancel := withTimeout(c.closing, fetchTimeout)
	defer cancel()
	body, _, err := c.cfg.Store.Open(ctx, file.Key)
	if err != nil {
		return err
	}
	defer body.Close()
	name := filepath.Join(c.cfg.Dir, fetchPrefix+rand.Text())
	to, err := c.create(name)
	if err != nil {
		return err
	}
	if err = copyVerified(to, body, file); err == nil {
		err = to.Chmod(0o444)
	}
	if err = cmp.Or(err, to.Close()); err == nil {
		err = os.Rename(name, c.path(file.Key))
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}

// Keys returns the keys of the files that are present, being fetched or damaged.
func (c *Cache) Keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.AppendSeq(slices.Collect(maps.Keys(c.files)), maps.Keys(c.damaged))
}

// Forget removes a file that is no longer needed, as soon as nobody holds it.
func (c *Cache) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.damaged, key)
	if f := c.files[key]; f != nil {
		if f.obsolete = true; f.holds == 0 {
			c.remove(f)
		}
	}
}

// path is where a file is: its key, escaped to one name.
func (c *Cache) path(key string) string { return filepath.Join(c.cfg.Dir, url.PathEscape(key)) }

// touch records the time of the last use for the next process.
func (c *Cache) touch(f *cached) {
	now := time.Now()
	if err := os.Chtimes(c.path(f.key), now, now); err == nil {
		f.verified = c.modTime(f)
	}
}

// intact reports whether a file is the one that was verified, by its size and time.
func (c *Cache) intact(f *cached) bool {
	return !f.verified.IsZero() && c.modTime(f).Equal(f.verified)
}

// modTime is zero for what is not a file of the right size.
func (c *Cache) modTime(f *cached) time.Time {
	info, err := os.Lstat(c.path(f.key))
	if err != nil || !info.Mode().IsRegular() || info.Size() != f.size {
		return time.Time{}
	}
	return info.ModTime()
}

// scan adds the files of an earlier process, to be verified at first use, and removes
// those that do not belong or do not fit.
func (c *Cache) scan() error {
	if err := os.MkdirAll(c.cfg.Dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(c.cfg.Dir)
	if err != nil {
		return err
	}
	var found []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if _, ours := keyOf(info.Name()); ours && info.Mode().IsRegular() {
			found = append(found, info)
		} else if err := os.RemoveAll(filepath.Join(c.cfg.Dir, info.Name())); err != nil {
			return err
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range found {
		key, _ := keyOf(info.Name())
		c.add(key, info.Size())
	}
	c.evict(c.cfg.Size)
	return nil
}

// keyOf returns the key that a file's name stands for, if any.
func keyOf(name string) (key string, ok bool) {
	key, err := url.PathUnescape(name)
	return key, err == nil && CheckKey(key) == "" && url.PathEscape(key) == name && !strings.HasPrefix(name, ".")
}
