package objects

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/domain"
)

// CacheConfig is the configuration of a Cache.
type CacheConfig struct {
	// Store is where the files come from.
	Store Store
	// Dir is the cache's own folder; anything else in it is removed.
	Dir string
	// Size is the most bytes that the files take together.
	Size int64
	Log  *slog.Logger
}

// Cache holds local copies of immutable objects and checks them against the records. It
// evicts the least recently used files that nobody holds. One process at a time uses its
// folder; the next one finds the files again.
type Cache struct {
	cfg CacheConfig
	// closing ends with Close, which waits for the fetches.
	closing context.Context
	close   context.CancelFunc
	fetches sync.WaitGroup
	// fetchSlots bounds parallel fetches; waiter admits one of those that wait for room.
	fetchSlots, waiter chan struct{}
	waiting            atomic.Int32
	create             func(name string) (*os.File, error)

	mu    sync.Mutex
	files map[string]*cached
	// damaged has the keys of objects whose bytes were wrong when they were fetched.
	damaged map[string]bool
	// order has all files, the most recently used first.
	order list.List
	// held is the size of the files in use; that of all files is in stats.
	held int64
	// freed is closed, and replaced, when there may be more room.
	freed chan struct{}
	stats CacheStats
}

// CacheStats are the size of a cache and its counters.
type CacheStats struct {
	Bytes int64
	// Hits counts requested files that were present, Misses those that were not,
	// Evictions removals to make room, Failures wrong files and failed fetches.
	Hits, Misses, Evictions, Failures int64
}

// cached is a file in the cache, or being fetched.
type cached struct {
	key     string
	size    int64
	element *list.Element
	// holds counts the users, and a running fetch or check.
	holds int
	// verified is the modification time when this process checked the file, or zero.
	verified time.Time
	// suspected files could not be read, and were to be checked again.
	suspected bool
	// fetch is the running fetch or check, nil without one.
	fetch *fetch
	// obsolete files go with their last user, removed ones are no longer in the cache.
	obsolete, removed bool
}

// fetch is one fetch or check of a file. err is its error, to be read when done is closed.
type fetch struct {
	done chan struct{}
	err  error
}

// maxFetches bounds parallel fetches and checks.
const maxFetches = 8

// OpenCache opens a cache with the files of an earlier process, if they fit.
func OpenCache(cfg CacheConfig) (*Cache, error) {
	c := &Cache{
		cfg: cfg, files: map[string]*cached{}, damaged: map[string]bool{}, freed: make(chan struct{}),
		fetchSlots: make(chan struct{}, maxFetches), waiter: make(chan struct{}, 1), create: createFile,
	}
	c.closing, c.close = context.WithCancel(context.Background())
	if err := c.scan(); err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	return c, nil
}

// Close stops the fetches. It may be called again.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.close()
	c.mu.Unlock()
	c.fetches.Wait()
	return nil
}

// Stats returns the size and the counters.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Hold returns the paths of files, in order, which stay until release. It fetches missing
// ones, once for all callers. It waits for room for all files at once, so that no two
// callers wait for each other. Its failures are domain.ErrUnavailable.
func (c *Cache) Hold(ctx context.Context, files []domain.DataFile) (paths []string, release func(), err error) {
	all, err := c.takeWhenFree(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	if err := waitFetched(ctx, all); err != nil {
		c.release(all)
		return nil, nil, err
	}
	paths, release = c.lend(all)
	return paths, release, nil
}

// waitFetched waits until held files can be read.
func waitFetched(ctx context.Context, all []taken) error {
	for _, t := range all {
		if t.fetch == nil {
			continue
		}
		select {
		case <-t.fetch.done:
			if t.fetch.err != nil {
				return t.fetch.err
			}
		case <-ctx.Done():
			return waitError(ctx)
		}
	}
	return nil
}

// Ready is Hold for files that are all verified. It reports whether they are.
func (c *Cache) Ready(files []domain.DataFile) (paths []string, release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	inUse := int64(0)
	for _, file := range files {
		f := c.files[file.Key]
		// Those that wait for room come first.
		if f == nil || f.fetch != nil || !c.intact(f) || c.waiting.Load() > 0 && f.holds == 0 {
			return nil, nil, false
		}
		if f.holds > 0 {
			inUse++
		}
	}
	paths, release = c.lend(c.take(files))
	c.stats.Hits -= inUse // their users were counted
	return paths, release, true
}

// Check reports whether files are in the cache, or their objects in the store, see [Check]. It
// fetches an object that was damaged, which is domain.ErrNotFound if it still is.
func (c *Cache) Check(ctx context.Context, files []domain.DataFile) error {
	var others []domain.DataFile
	for _, file := range files {
		_, release, ok := c.Ready([]domain.DataFile{file})
		if ok {
			release()
			continue
		}
		others = append(others, file)
		c.mu.Lock()
		damaged := c.damaged[file.Key]
		c.mu.Unlock()
		if !damaged {
			continue
		}
		_, release, err := c.Hold(ctx, []domain.DataFile{file})
		if errors.Is(err, domain.ErrDamaged) {
			return fmt.Errorf("%w: the file %s is damaged: %v", domain.ErrNotFound, file.Key, err)
		}
		if err != nil {
			return err
		}
		release()
	}
	return Check(ctx, c.cfg.Store, others)
}

// Verify makes the next Hold compare files again, once for each: a user's queries can fail at
// will. The error is nil: wrong ones are fetched again.
func (c *Cache) Verify(_ context.Context, files []domain.DataFile) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, file := range files {
		if f := c.files[file.Key]; f != nil && !f.suspected {
			f.suspected, f.verified = true, time.Time{}
		}
	}
	return nil
}

// Compare compares files that are held with the records, always. The next Hold fetches a wrong one
// again.
func (c *Cache) Compare(_ context.Context, files []domain.DataFile) error {
	for _, file := range files {
		if err := c.verify(file); err != nil {
			c.mu.Lock()
			if f := c.files[file.Key]; f != nil {
				f.verified = time.Time{}
			}
			c.mu.Unlock()
			return fmt.Errorf("%w: the cached file %s: %w", domain.ErrUnavailable, file.Key, err)
		}
	}
	return nil
}

// Put stores a copy of a local file in the store.
func (c *Cache) Put(ctx context.Context, key, path string) error {
	return c.cfg.Store.PutFile(ctx, key, path)
}

// taken is a held file, and what to wait for before reading it.
type taken struct {
	*cached
	fetch *fetch
}

// waitError says why a caller stops waiting for files.
func waitError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return domain.Errorf(domain.ErrUnavailable, "the data is not at hand yet; try again soon")
	}
	return context.Cause(ctx)
}

func (c *Cache) lend(all []taken) (paths []string, release func()) {
	paths = make([]string, len(all))
	for i, t := range all {
		paths[i] = c.path(t.key)
	}
	return paths, sync.OnceFunc(func() { c.release(all) })
}

// takeWhenFree holds files as soon as there is room for all of them.
func (c *Cache) takeWhenFree(ctx context.Context, files []domain.DataFile) ([]taken, error) {
	all, _, err := c.tryTake(files, false)
	if all != nil || err != nil {
		return all, err
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	select {
	case c.waiter <- struct{}{}:
		defer func() { <-c.waiter }()
	case <-ctx.Done():
		return nil, waitError(ctx)
	}
	for {
		all, freed, err := c.tryTake(files, true)
		if all != nil || err != nil {
			return all, err
		}
		select {
		case <-freed:
		case <-c.closing.Done():
		case <-ctx.Done():
			return nil, waitError(ctx)
		}
	}
}

// tryTake holds files when there is room for all of them and, where the caller is not
// next, nobody waits. Else it gives nil and what to wait for.
func (c *Cache) tryTake(files []domain.DataFile, next bool) ([]taken, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	more, total := c.sizes(files)
	switch {
	case c.closing.Err() != nil:
		return nil, nil, errCacheClosed
	case total > c.cfg.Size:
		c.cfg.Log.Error("query needs more data than the cache holds", "bytes", total, "cache", c.cfg.Size)
		return nil, nil, domain.Errorf(domain.ErrUnavailable, "the query reads %d bytes of data, and this server keeps at most %d at hand", total, c.cfg.Size)
	case more > 0 && (c.held+more > c.cfg.Size || c.waiting.Load() > 0 && !next):
		return nil, c.freed, nil
	}
	return c.take(files), nil, nil
}

// sizes returns the bytes that holding files would add to those held, and of all files.
func (c *Cache) sizes(files []domain.DataFile) (more, total int64) {
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		if seen[file.Key] {
			continue
		}
		seen[file.Key] = true
		total += file.Bytes
		if f := c.files[file.Key]; f == nil || f.holds == 0 {
			more += file.Bytes
		}
	}
	return more, total
}

// take holds files, for which there is room, and starts the fetches and checks that they
// need. The caller holds the lock, as for the methods below.
func (c *Cache) take(files []domain.DataFile) []taken {
	all := make([]taken, len(files))
	for i, file := range files {
		f := c.entry(file)
		c.hold(f)
		if f.verified.IsZero() && f.fetch == nil {
			c.startFetch(f, file)
		}
		all[i] = taken{f, f.fetch}
	}
	c.evict(c.cfg.Size)
	return all
}

// entry finds or adds a file.
func (c *Cache) entry(file domain.DataFile) *cached {
	f := c.files[file.Key]
	if f != nil && f.holds == 0 && f.size != file.Bytes {
		c.stats.Failures++
		c.remove(f) // incomplete, or changed by somebody
		f = nil
	}
	if f == nil {
		c.stats.Misses++
		return c.add(file.Key, file.Bytes)
	}
	c.stats.Hits++
	if !c.intact(f) {
		f.verified = time.Time{}
	}
	return f
}

func (c *Cache) add(key string, size int64) *cached {
	f := &cached{key: key, size: size}
	f.element = c.order.PushFront(f)
	c.files[key] = f
	c.stats.Bytes += size
	return f
}

func (c *Cache) hold(f *cached) {
	if f.holds++; f.holds == 1 {
		c.held += f.size
	}
	c.order.MoveToFront(f.element)
}

func (c *Cache) unhold(f *cached) {
	if f.removed {
		return
	}
	if f.holds--; f.holds > 0 {
		return
	}
	c.held -= f.size
	c.order.MoveToFront(f.element)
	if f.obsolete {
		c.remove(f)
	} else if !f.verified.IsZero() {
		c.touch(f)
	}
	c.signalFreed()
}

func (c *Cache) signalFreed() {
	close(c.freed)
	c.freed = make(chan struct{})
}

func (c *Cache) release(all []taken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range all {
		c.unhold(t.cached)
	}
}

// evict removes unused files, the least recently used first, until the rest takes at
// most size bytes. It returns the bytes removed.
func (c *Cache) evict(size int64) {
	for at := c.order.Back(); at != nil && c.stats.Bytes > size; {
		f := at.Value.(*cached)
		at = at.Prev()
		if f.holds == 0 {
			c.remove(f)
			c.stats.Evictions++
		}
	}
}

// remove deletes a file. Processes that have it open can still read it.
func (c *Cache) remove(f *cached) {
	if f.holds > 0 {
		c.held -= f.size
	}
	c.stats.Bytes -= f.size
	c.order.Remove(f.element)
	delete(c.files, f.key)
	f.removed = true
	if err := ignoreMissing(os.Remove(c.path(f.key))); err != nil {
		c.cfg.Log.Warn("cached file not removed", "error", err)
	}
}

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

// Source fetches an object that is read once into dir, and returns its path.
func (c *Cache) Source(ctx context.Context, key, dir string) (string, error) {
	local := filepath.Join(dir, "source")
	return local, Fetch(ctx, c.cfg.Store, key, local)
}

// Delete removes an object from the store and from the cache.
func (c *Cache) Delete(ctx context.Context, key string) error {
	c.Forget(key)
	return c.cfg.Store.Delete(ctx, key)
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
