package objects

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"parley/storage"
)

// CacheConfig is what a Cache needs.
type CacheConfig struct {
	// Store is where the files come from.
	Store Store
	// Dir is the cache's own folder; whatever else is in it is removed.
	Dir string
	// Size is the most bytes that the files take together.
	Size int64
	// Reclaim has those who hold files in case they are needed again let go of
	// them, before it returns or soon. Nil is for nobody.
	Reclaim func()
	// Log gets what an operator should know; nil is for nothing.
	Log *slog.Logger
}

// Cache keeps copies of immutable objects as files of this machine, checked
// against what the records say of them. When there is no room, those that were
// used least recently go, but none that somebody holds. One process has its
// folder at a time; what that one leaves, the next one finds.
type Cache struct {
	cfg CacheConfig
	// life ends with Close, which waits for the work.
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup
	// fetching has room for as many as are fetched at once, turn for one of
	// those who wait for room.
	fetching, turn chan struct{}
	create         func(name string) (*os.File, error)

	mu    sync.Mutex
	files map[string]*cached
	// order is all files, the one used last in front.
	order list.List
	// bytes is what all take, held what those take that somebody holds.
	bytes, held int64
	waiting     int
	// freed is closed, and made anew, when room may have come.
	freed chan struct{}
	stats CacheStats
}

// CacheStats is what a cache holds, and has done since it was opened.
type CacheStats struct {
	Bytes int64
	// Hits counts files that were there when asked for, Misses those that had
	// to be fetched, Evictions those that went to make room, Failures those
	// that were not what they should be or could not be fetched.
	Hits, Misses, Evictions, Failures int64
}

// cached is a file that is in the cache, or on its way.
type cached struct {
	key   string
	size  int64
	place *list.Element
	// holds counts those who read it, and who fetches or checks it.
	holds int
	// good says that this process has checked it, and stamp when it was changed
	// last, by us.
	good  bool
	stamp time.Time
	// busy is closed when it has been fetched or checked, with what came of it
	// in err; nil when nobody does.
	busy chan struct{}
	err  error
	// doomed is to go with its last holder, gone is no longer in the cache.
	doomed, gone bool
}

const (
	// fetches is how many files are fetched or checked at once.
	fetches = 8
	// reclaimEvery is how often those who hold files are asked to let go, while
	// somebody waits for room.
	reclaimEvery = 50 * time.Millisecond
)

// OpenCache opens a cache with what an earlier process has left in its folder,
// as far as there is room.
func OpenCache(cfg CacheConfig) (*Cache, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Reclaim == nil {
		cfg.Reclaim = func() {}
	}
	c := &Cache{
		cfg: cfg, files: map[string]*cached{}, freed: make(chan struct{}),
		fetching: make(chan struct{}, fetches), turn: make(chan struct{}, 1), create: createFile,
	}
	c.life, c.end = context.WithCancel(context.Background())
	if err := c.scan(); err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	return c, nil
}

// Close stops what is being fetched. It may be called again.
func (c *Cache) Close() error {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.work.Wait()
	return nil
}

// Stats says what the cache is doing.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	stats := c.stats
	stats.Bytes = c.bytes
	return stats
}

// Hold gives the paths of files, in their order, which stay until release is
// called; fetching those that are not there, once for all who ask. It waits for
// room, and takes it for all files or none, so that no two wait for each other.
// What cannot be had is storage.ErrUnavailable.
func (c *Cache) Hold(ctx context.Context, files []storage.DataFile) (paths []string, release func(), err error) {
	taken, err := c.take(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range taken {
		if err := t.wait(ctx); err != nil {
			c.releaseAll(taken)
			return nil, nil, err
		}
	}
	return c.given(taken)
}

// Ready is Hold for files that are all there, and need not be waited for. It
// reports whether they are.
func (c *Cache) Ready(files []storage.DataFile) (paths []string, release func(), ok bool) {
	c.mu.Lock()
	held := int64(0)
	for _, file := range files {
		f := c.files[file.Key]
		ok := f != nil && f.good && f.busy == nil && c.intact(f)
		// Who waits for room comes first.
		if !ok || c.waiting > 0 && f.holds == 0 {
			c.mu.Unlock()
			return nil, nil, false
		}
		if f.holds > 0 {
			held++
		}
	}
	taken := c.takeNow(files)
	c.stats.Hits -= held // whoever holds them was counted
	c.mu.Unlock()
	paths, release, _ = c.given(taken)
	return paths, release, true
}

// taken is a file that is held, and what to wait for before it is read.
type taken struct {
	*cached
	busy <-chan struct{}
}

func (t taken) wait(ctx context.Context) error {
	if t.busy == nil {
		return nil
	}
	select {
	case <-t.busy:
		return t.err
	case <-ctx.Done():
		return waited(ctx)
	}
}

// waited says why somebody no longer waits for files.
func waited(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return storage.Errorf(storage.ErrUnavailable, "the data is not at hand yet; try again soon")
	}
	return context.Cause(ctx)
}

func (c *Cache) given(all []taken) ([]string, func(), error) {
	paths := make([]string, len(all))
	for i, t := range all {
		paths[i] = c.path(t.key)
	}
	return paths, sync.OnceFunc(func() { c.releaseAll(all) }), nil
}

// take holds files when there is room for all of them.
func (c *Cache) take(ctx context.Context, files []storage.DataFile) ([]taken, error) {
	all, err := c.tryTake(files, false)
	if all != nil || err != nil {
		return all, err
	}
	c.mu.Lock()
	c.waiting++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
	}()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
		return c.takeWhenFree(ctx, files)
	case <-ctx.Done():
		return nil, waited(ctx)
	}
}

// takeWhenFree is take for the one who is first of those who wait.
func (c *Cache) takeWhenFree(ctx context.Context, files []storage.DataFile) ([]taken, error) {
	for {
		c.mu.Lock()
		freed := c.freed
		c.mu.Unlock()
		all, err := c.tryTake(files, true)
		if all != nil || err != nil {
			return all, err
		}
		// Who was at work when asked to let go may be idle by now.
		c.cfg.Reclaim()
		select {
		case <-freed:
		case <-time.After(reclaimEvery):
		case <-c.life.Done():
		case <-ctx.Done():
			return nil, waited(ctx)
		}
	}
}

// tryTake holds files when there is room for all of them and, unless it is the
// caller's turn, nobody waits for room. Else it gives nil.
func (c *Cache) tryTake(files []storage.DataFile, turn bool) ([]taken, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	more, all := c.more(files)
	switch {
	case c.life.Err() != nil:
		return nil, errCacheClosed
	case all > c.cfg.Size:
		c.cfg.Log.Error("a query reads more than the cache may hold", "bytes", all, "cache", c.cfg.Size)
		return nil, storage.Errorf(storage.ErrUnavailable, "the query reads %d bytes of data, and this server keeps at most %d at hand", all, c.cfg.Size)
	case more > 0 && (c.held+more > c.cfg.Size || c.waiting > 0 && !turn):
		return nil, nil
	}
	return c.takeNow(files), nil
}

// more is how many bytes holding files would add to what is held, and all how
// many they have.
func (c *Cache) more(files []storage.DataFile) (more, all int64) {
	seen := make(map[string]bool, len(files))
	for _, file := range files {
		if seen[file.Key] {
			continue
		}
		seen[file.Key] = true
		all += file.Bytes
		if f := c.files[file.Key]; f == nil || f.holds == 0 {
			more += file.Bytes
		}
	}
	return more, all
}

// takeNow holds files, for which there is room, and begins to fetch and check
// what needs it. The caller holds the lock.
func (c *Cache) takeNow(files []storage.DataFile) []taken {
	all := make([]taken, len(files))
	for i, file := range files {
		f := c.entry(file)
		c.hold(f)
		if !f.good && f.busy == nil {
			c.begin(f, file)
		}
		all[i] = taken{f, f.busy}
	}
	c.trim(c.cfg.Size)
	return all
}

// entry gives the place of a file, a new one when there is none.
func (c *Cache) entry(file storage.DataFile) *cached {
	f := c.files[file.Key]
	if f != nil && f.holds == 0 && f.size != file.Bytes {
		c.stats.Failures++
		c.drop(f) // left half, or by somebody else
		f = nil
	}
	if f != nil {
		c.stats.Hits++
		f.good = f.good && c.intact(f)
		return f
	}
	c.stats.Misses++
	return c.add(file.Key, file.Bytes)
}

func (c *Cache) add(key string, size int64) *cached {
	f := &cached{key: key, size: size}
	f.place = c.order.PushFront(f)
	c.files[key] = f
	c.bytes += size
	return f
}

func (c *Cache) hold(f *cached) {
	if f.holds++; f.holds == 1 {
		c.held += f.size
	}
	c.order.MoveToFront(f.place)
}

// unhold ends a hold. The caller holds the lock.
func (c *Cache) unhold(f *cached) {
	if f.gone {
		return
	}
	if f.holds--; f.holds > 0 {
		return
	}
	c.held -= f.size
	c.order.MoveToFront(f.place)
	if f.doomed {
		c.drop(f)
	} else if f.good {
		c.touch(f)
	}
	close(c.freed)
	c.freed = make(chan struct{})
}

func (c *Cache) releaseAll(all []taken) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range all {
		c.unhold(t.cached)
	}
}

// trim removes files that nobody holds, the oldest first, until the rest takes
// no more than size. It gives how much it removed.
func (c *Cache) trim(size int64) (removed int64) {
	for at := c.order.Back(); at != nil && c.bytes > size; {
		f := at.Value.(*cached)
		at = at.Prev()
		if f.holds > 0 {
			continue
		}
		c.drop(f)
		c.stats.Evictions++
		removed += f.size
	}
	return removed
}

// drop removes a file, which those who have it open still read.
func (c *Cache) drop(f *cached) {
	if f.holds > 0 {
		c.held -= f.size
	}
	c.bytes -= f.size
	c.order.Remove(f.place)
	delete(c.files, f.key)
	f.gone = true
	if err := os.Remove(c.path(f.key)); err != nil && !missing(err) {
		c.cfg.Log.Warn("a cached file was not removed", "error", err)
	}
}
