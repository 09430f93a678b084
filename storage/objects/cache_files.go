package objects

import (
	"cmp"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Keys gives the keys of the files that are there, or on their way.
func (c *Cache) Keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.files))
}

// Forget removes a file that is needed no more, as soon as nobody holds it.
func (c *Cache) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.files[key]; f != nil {
		if f.doomed = true; f.holds == 0 {
			c.drop(f)
		}
	}
}

// path is where a file is: its key, as one name.
func (c *Cache) path(key string) string { return filepath.Join(c.cfg.Dir, url.PathEscape(key)) }

// touch notes when a file was used last, for the next process to know.
func (c *Cache) touch(f *cached) {
	now := time.Now()
	if err := os.Chtimes(c.path(f.key), now, now); err == nil {
		f.stamp = c.stampOf(f)
	}
}

// intact reports whether a file is as it was when it was checked, from the
// outside.
func (c *Cache) intact(f *cached) bool {
	info, err := os.Lstat(c.path(f.key))
	return err == nil && info.Mode().IsRegular() && info.Size() == f.size && info.ModTime().Equal(f.stamp)
}

func (c *Cache) stampOf(f *cached) time.Time {
	info, err := os.Lstat(c.path(f.key))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// scan finds what an earlier process has left, to be checked when it is first
// used, and removes what does not belong or has no room.
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
			continue
		}
		if err := os.RemoveAll(filepath.Join(c.cfg.Dir, info.Name())); err != nil {
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
	c.trim(c.cfg.Size)
	return nil
}

// keyOf gives the key that a file's name in the cache stands for, if any.
func keyOf(name string) (key string, ok bool) {
	key, err := url.PathUnescape(name)
	return key, err == nil && CheckKey(key) == "" && url.PathEscape(key) == name && !strings.HasPrefix(name, ".")
}
