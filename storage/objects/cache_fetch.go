package objects

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"parley/storage"
)

const (
	// fetchTime is how long fetching one file may take.
	fetchTime = time.Hour
	// fetchPrefix begins the names of files on their way.
	fetchPrefix = ".fetch-"
)

// errWrong says that bytes are not those that the records tell of.
var errWrong = errors.New("not the bytes that were kept")

// begin has a file checked when it is there, and fetched when it is not or is
// wrong. Nobody who waits can cut that short. The caller holds the lock.
func (c *Cache) begin(f *cached, file storage.DataFile) {
	f.busy = make(chan struct{})
	c.hold(f)
	c.work.Go(func() {
		c.fetching <- struct{}{}
		err := c.bring(c.life, file)
		<-c.fetching
		c.mu.Lock()
		defer c.mu.Unlock()
		c.finish(f, err)
	})
}

var errCacheClosed = storage.Errorf(storage.ErrUnavailable, "the server is shutting down")

// finish tells those who wait. The caller holds the lock.
func (c *Cache) finish(f *cached, err error) {
	f.err = err
	if f.good = err == nil; f.good {
		f.stamp = c.stampOf(f)
	} else {
		c.drop(f)
	}
	close(f.busy)
	f.busy = nil
	c.unhold(f)
	if f.gone { // which gives room too
		close(c.freed)
		c.freed = make(chan struct{})
	}
}

// bring sees to it that a file is there and right. What is wrong is thrown away
// and fetched, at most twice.
func (c *Cache) bring(ctx context.Context, file storage.DataFile) error {
	err := c.check(file)
	for try := 0; err != nil && try < 2; try++ {
		switch {
		case errors.Is(err, fs.ErrNotExist): // nothing was there
		case errors.Is(err, errWrong):
			c.fail("a cached file is not what it should be; fetching it anew", file, err)
		case full(err):
			c.fail("no room on the disk for a cached file; removing others", file, err)
			c.makeRoom(file.Bytes)
		default:
			c.fail("a file was not fetched", file, err)
			return neutral(err)
		}
		err = c.fetch(ctx, file)
	}
	if err == nil {
		return nil
	}
	c.fail("a file cannot be had", file, err)
	if full(err) {
		return storage.Errorf(storage.ErrUnavailable, "there is no room for the data on this server's disk; try again later")
	}
	return neutral(err)
}

// neutral is an error without what only an operator should know.
func neutral(err error) error {
	if errors.Is(err, context.Canceled) {
		return errCacheClosed
	}
	return storage.Errorf(storage.ErrUnavailable, "the data cannot be read now; try again")
}

func (c *Cache) fail(what string, file storage.DataFile, err error) {
	c.mu.Lock()
	c.stats.Failures++
	c.mu.Unlock()
	if c.life.Err() == nil {
		c.cfg.Log.Error(what, "key", file.Key, "error", err)
	}
}

func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// makeRoom removes files that take at least so many bytes, where there are any
// that nobody needs.
func (c *Cache) makeRoom(bytes int64) {
	trim := func() int64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.trim(c.bytes - bytes)
	}
	if bytes -= trim(); bytes > 0 {
		c.cfg.Reclaim()
		trim()
	}
}

// check compares a file that is there with the records: by its hash, or where
// there is none by its size.
func (c *Cache) check(file storage.DataFile) error {
	from, err := os.Open(c.path(file.Key))
	if err != nil {
		return err
	}
	defer from.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(from, file.Bytes+1))
	if err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	return compare(file, n, sum)
}

func compare(file storage.DataFile, size int64, sum hash.Hash) error {
	if size != file.Bytes {
		return fmt.Errorf("%w: %d bytes or more, not %d", errWrong, size, file.Bytes)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); file.SHA256 != "" && got != file.SHA256 {
		return fmt.Errorf("%w: its hash is %s, not %s", errWrong, got, file.SHA256)
	}
	return nil
}

// fetch puts an object into its place, when it is right, open to workers, which
// may be somebody else.
func (c *Cache) fetch(ctx context.Context, file storage.DataFile) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errTooLong)
	defer cancel()
	body, _, err := c.cfg.Store.Open(ctx, file.Key)
	if err != nil {
		return err
	}
	defer body.Close()
	name := filepath.Join(c.cfg.Dir, fetchPrefix+rand.Text())
	to, err := c.create(name)
	if err != nil {
		return fmt.Errorf("make a file for object %q: %w", file.Key, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(name)
		}
	}()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(body, file.Bytes+1))
	if err == nil {
		err = compare(file, n, sum)
	}
	if err == nil {
		err = to.Chmod(0o444)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Rename(name, c.path(file.Key))
}
