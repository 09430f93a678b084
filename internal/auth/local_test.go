package auth_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/internal/auth"
)

func TestLoadLocalKey(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data", "deep")
	key, err := auth.LoadLocalKey(dir)
	if err != nil {
		t.Fatalf("LoadLocalKey: %v", err)
	}
	if len(key) != 32 || bytes.Equal(key, make([]byte, 32)) {
		t.Errorf("the key has %d bytes: %x", len(key), key)
	}
	for path, want := range map[string]fs.FileMode{
		dir:                               fs.ModeDir | 0o700,
		filepath.Dir(dir):                 fs.ModeDir | 0o700,
		filepath.Join(dir, "signing-key"): 0o600,
	} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode(), want, err)
		}
	}
	again, err := auth.LoadLocalKey(dir)
	if err != nil || !bytes.Equal(again, key) {
		t.Errorf("a second LoadLocalKey = %x, %v, want %x", again, err, key)
	}
	other, err := auth.LoadLocalKey(t.TempDir())
	if err != nil || bytes.Equal(other, key) {
		t.Errorf("another folder has the same key (%v)", err)
	}
}

func TestLoadLocalKeyAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	var group sync.WaitGroup
	keys := make([][]byte, 64)
	for i := range keys {
		group.Go(func() {
			key, err := auth.LoadLocalKey(dir)
			if err != nil {
				t.Errorf("LoadLocalKey: %v", err)
			}
			keys[i] = key
		})
	}
	group.Wait()
	for _, key := range keys {
		if !bytes.Equal(key, keys[0]) {
			t.Fatalf("two keys: %x and %x", keys[0], key)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v (%v), want the key alone", left, err)
	}
}

func TestLoadLocalKeyFromFile(t *testing.T) {
	t.Parallel()
	encode := base64.StdEncoding.EncodeToString
	long := bytes.Repeat([]byte("k"), 64)
	tests := map[string]struct {
		content string
		want    []byte
	}{
		"a key":            {encode(long[:32]) + "\n", long[:32]},
		"without newline":  {encode(long[:32]), long[:32]},
		"a longer key":     {encode(long) + "\r\n", long},
		"empty":            {"", nil},
		"blank":            {"\n", nil},
		"short":            {encode(long[:31]) + "\n", nil},
		"not base64":       {strings.Repeat("key!", 20), nil},
		"raw bytes":        {strings.Repeat("\x00\xff", 32), nil},
		"cut off":          {encode(long[:32])[:41], nil},
		"two keys":         {encode(long[:32]) + "\n" + encode(long[:32]) + "\n", nil},
		"a very long file": {strings.Repeat("k", 5001), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "signing-key")
			if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			key, err := auth.LoadLocalKey(dir)
			if test.want != nil {
				if err != nil || !bytes.Equal(key, test.want) {
					t.Errorf("LoadLocalKey = %x, %v, want %x", key, err, test.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "delete it") {
				t.Errorf("LoadLocalKey = %x, %v, want an error that says what to do", key, err)
			}
			if content, _ := os.ReadFile(path); string(content) != test.content {
				t.Error("the file was changed")
			}
		})
	}
}

func TestLoadLocalKeyWithoutAPlace(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := auth.LoadLocalKey(file); err == nil {
		t.Errorf("LoadLocalKey in a file = %x", key)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "signing-key"), 0o700); err != nil {
		t.Fatal(err)
	}
	if key, err := auth.LoadLocalKey(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("LoadLocalKey of a folder = %x, %v", key, err)
	}
}
