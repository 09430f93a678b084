package auth

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// LocalKeyFile is the name of the local key in the data folder.
const LocalKeyFile = "signing-key"

// maxKeyFile limits what is read of the file, in bytes.
const maxKeyFile = 4 << 10

// LoadLocalKey returns the signing key of local tokens in the data folder. It creates the
// key and the folder when they do not exist; concurrent processes get the same key. An
// invalid key file is an error and is not changed.
func LoadLocalKey(dataDir string) ([]byte, error) {
	path := filepath.Join(dataDir, LocalKeyFile)
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the signing key: %w", err)
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the signing key: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the signing key %s: %w", path, err)
	}
	key, err := base64.StdEncoding.Strict().DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) < minKey || len(text) > maxKeyFile {
		return nil, fmt.Errorf("the signing key %s is not the base64 form of at least %d bytes: restore it from a copy, "+
			"or delete it to have a new one made (local tokens signed so far are then refused)", path, minKey)
	}
	return key, nil
}

// makeKey writes a new key to a temporary file and links it to its name, so that nobody
// reads a part of it. ErrExist when another process was first.
func makeKey(path string) (err error) {
	key := make([]byte, minKey)
	rand.Read(key)
	file, err := os.CreateTemp(filepath.Dir(path), "."+LocalKeyFile+"-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Link(file.Name(), path)
}
