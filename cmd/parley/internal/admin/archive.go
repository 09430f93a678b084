package admin

import (
	"archive/tar"
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
)

// An archive is a tar file with a manifest, the files of a data folder, and the hashes of
// all of them in the format of sha256sum. The hashes come last: an archive that has them is
// complete. It is not compressed, since datasets are.
const (
	manifestName  = "parley-backup.json"
	archiveSums   = "SHA256SUMS"
	archiveFormat = 1
	maxManifest   = 64 << 10
	maxName       = 2 << 10
)

// manifest describes an archive.
type manifest struct {
	Format  int       `json:"format"`
	Version string    `json:"version"`
	Created time.Time `json:"made"`
}

// archiveWriter writes an archive.
type archiveWriter struct {
	tar     *tar.Writer
	sums    *os.File
	created time.Time
}

// newArchive starts an archive. The hashes are collected in a file of the caller.
func newArchive(to io.Writer, sums *os.File, version string) (*archiveWriter, error) {
	a := &archiveWriter{tar: tar.NewWriter(to), sums: sums, created: time.Now().UTC().Truncate(time.Second)}
	text, err := json.Marshal(manifest{Format: archiveFormat, Version: version, Created: a.created})
	if err != nil {
		return nil, fmt.Errorf("describe the backup: %w", err)
	}
	_, err = a.add(manifestName, int64(len(text)), strings.NewReader(string(text)))
	return a, err
}

// add writes a file and returns its hash.
func (a *archiveWriter) add(name string, size int64, content io.Reader) (hash string, err error) {
	hash, err = a.write(name, size, content)
	if err == nil {
		_, err = fmt.Fprint(a.sums, sumLine(hash, name))
	}
	return hash, err
}

func (a *archiveWriter) write(name string, size int64, content io.Reader) (hash string, err error) {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.created}
	if err := a.tar.WriteHeader(header); err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(a.tar, sum), io.LimitReader(content, size))
	if err == nil && n < size {
		err = fmt.Errorf("%s has %d bytes, not %d", name, n, size)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// addFile is add for a file on disk.
func (a *archiveWriter) addFile(name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		_, err = a.add(name, info.Size(), file)
	}
	return err
}

// close writes the hashes, which ends the archive.
func (a *archiveWriter) close() error {
	size, err := a.sums.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = a.sums.Seek(0, io.SeekStart)
	}
	if err != nil {
		return err
	}
	if _, err := a.write(archiveSums, size, a.sums); err != nil {
		return err
	}
	return a.tar.Close()
}

func sumLine(hash, name string) string { return hash + "  " + name + "\n" }

// errNoArchive is a file of another format.
var errNoArchive = errors.New("it is not a backup from parley (is it compressed?)")

// readArchive passes every file of an archive to take, which may read any part of it, and
// checks the hashes at the end: only then is the archive complete and unchanged. It trusts
// nothing: all entries are regular files with names of a data folder, and their sizes fit
// into the archive. The hashes are collected in a file of the caller.
func readArchive(archive *os.File, sums *os.File, take func(name string, content io.Reader) error) error {
	info, err := archive.Stat()
	if err != nil {
		return err
	}
	files, total := tar.NewReader(bufio.NewReaderSize(archive, 1<<20)), int64(0)
	for first := true; ; first = false {
		header, err := files.Next()
		switch {
		case first && err != nil:
			return errNoArchive
		case errors.Is(err, io.EOF):
			return errors.New("it ends early: the hashes at its end are missing")
		case err != nil:
			return fmt.Errorf("it cannot be read on: %w", err)
		}
		// A sparse file would be larger than the space it takes.
		if total += header.Size; header.Size < 0 || total < 0 || total > info.Size() {
			return fmt.Errorf("%q does not fit into it: the archive is incomplete or damaged", truncated(header.Name))
		}
		if first {
			if err := readManifest(header, files, sums); err != nil {
				return err
			}
			continue
		}
		if header.Name == archiveSums {
			return checkSums(files, sums)
		}
		if err := checkEntry(header); err != nil {
			return err
		}
		if err := takeEntry(header.Name, files, sums, take); err != nil {
			return err
		}
	}
}

func readManifest(header *tar.Header, content io.Reader, sums io.Writer) error {
	if header.Name != manifestName || header.Size > maxManifest {
		return errNoArchive
	}
	var found manifest
	return takeEntry(manifestName, content, sums, func(_ string, content io.Reader) error {
		if err := json.NewDecoder(content).Decode(&found); err != nil {
			return errNoArchive
		}
		if found.Format != archiveFormat {
			return fmt.Errorf("it has format %d, and this parley reads %d", found.Format, archiveFormat)
		}
		return nil
	})
}

// takeEntry passes a file to take and records its hash.
func takeEntry(name string, content io.Reader, sums io.Writer, take func(name string, content io.Reader) error) error {
	sum := sha256.New()
	content = io.TeeReader(content, sum)
	if err := take(name, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return fmt.Errorf("%s cannot be read: %w", name, err)
	}
	_, err := fmt.Fprint(sums, sumLine(hex.EncodeToString(sum.Sum(nil)), name))
	return err
}

// checkEntry refuses what is not part of a data folder.
func checkEntry(header *tar.Header) error {
	name := header.Name
	known := name == datadir.DatabaseFile || name == auth.LocalKeyFile || strings.HasPrefix(name, datadir.ObjectsDir+"/")
	switch {
	case len(name) > maxName || !filepath.IsLocal(name) || path.Clean(name) != name || strings.ContainsAny(name, "\\\n\x00"):
		return fmt.Errorf("%q is no name for a file of a backup", truncated(name))
	case header.Typeflag != tar.TypeReg || !known:
		return fmt.Errorf("%q has no place in a backup", name)
	}
	return nil
}

// checkSums compares the hashes at the end of an archive with the computed ones.
func checkSums(listed io.Reader, found *os.File) error {
	if _, err := found.Seek(0, io.SeekStart); err != nil {
		return err
	}
	want, got := bufio.NewScanner(listed), bufio.NewScanner(found)
	for got.Scan() {
		if !want.Scan() {
			return errors.Join(errors.New("it holds more files than hashes"), want.Err())
		}
		if want.Text() != got.Text() {
			_, name, _ := strings.Cut(got.Text(), "  ")
			return fmt.Errorf("%s is damaged: its hash does not match", name)
		}
	}
	if want.Scan() {
		return errors.New("files are missing: it holds more hashes than files")
	}
	return errors.Join(want.Err(), got.Err())
}

func truncated(name string) string { return name[:min(len(name), 200)] }
