package admin

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// run runs a command line of these commands.
func run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var flags command.Flags
	parser := kong.Must(&struct {
		Backup  Backup  `cmd:""`
		Restore Restore `cmd:""`
		Migrate Migrate `cmd:""`
		Token   Token   `cmd:""`
	}{}, &flags, kong.BindTo(t.Context(), (*context.Context)(nil)))
	parsed, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	var out, log strings.Builder
	err = parsed.Run(command.Env{Stdout: &out, Stderr: &log, Version: "test", Model: parser.Model, Problems: flags.Problems(parsed)})
	return out.String(), log.String(), err
}

// refused runs a command line that must fail with a text, and leaves a folder as it is.
func refused(t *testing.T, dir, want string, args ...string) {
	t.Helper()
	before := list(t, dir)
	_, log, err := run(t, args...)
	if !strings.Contains(log+fmt.Sprint(err), want) || err == nil {
		t.Errorf("%q: %v, want %q", args, err, want)
	}
	if after := list(t, dir); after != before {
		t.Errorf("%q leaves %s of %s", args, after, before)
	}
}

// list names the files of a folder, but for those that a database in use has.
func list(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !strings.Contains(path, datadir.DatabaseFile+"-") {
			names = append(names, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

const uploaded = "id,total\n1,2\n"

// dataFolder returns a data folder with an upload, and the path of its object.
func dataFolder(t *testing.T) (data, object string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "data")
	if out, _, err := run(t, "migrate", "--data", data); err != nil || !strings.Contains(out, "has version") {
		t.Fatal(out, err)
	}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Path: filepath.Join(data, datadir.DatabaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	alice := domain.Caller{Username: "alice"}
	file := domain.UploadFile{ID: "f", Filename: "a.csv", Size: int64(len(uploaded)), PartSize: 8, Key: "uploads/f", UploadID: "u"}
	if err := store.CreateUploadSession(t.Context(), alice, domain.UploadSession{ID: "s", Files: []domain.UploadFile{file}}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.CompleteUploadFile(t.Context(), alice, "s", "f"); err != nil {
		t.Fatal(err)
	}
	folder, err := openForReading(filepath.Join(data, datadir.ObjectsDir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	source := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(source, []byte(uploaded), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := folder.PutFile(t.Context(), file.Key, source); err != nil {
		t.Fatal(err)
	}
	if object, err = folder.Path(t.Context(), file.Key); err != nil {
		t.Fatal(err)
	}
	return data, object
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	data, object := dataFolder(t)
	token, _, err := run(t, "token", "alice", "--data", data)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup.tar")
	if _, log, err := run(t, "backup", file, "--data", data); err != nil || !strings.Contains(log, "1 files, ") {
		t.Fatal(log, err)
	}
	refused(t, filepath.Dir(file), "there already", "backup", file, "--data", data)
	refused(t, data, "is not empty", "restore", file, "--data", data)
	for _, into := range []string{filepath.Join(t.TempDir(), "new"), t.TempDir()} {
		if _, log, err := run(t, "restore", file, "--data", into); err != nil || !strings.Contains(log, "restored, 1 files") {
			t.Fatal(log, err)
		}
		restored := filepath.Join(into, strings.TrimPrefix(object, data))
		if text, err := os.ReadFile(restored); string(text) != uploaded || err != nil {
			t.Errorf("the upload is %q, %v", text, err)
		}
		for name, want := range map[string]os.FileMode{restored: 0o444, filepath.Join(into, datadir.DatabaseFile): 0o600, filepath.Join(into, auth.LocalKeyFile): 0o600} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		checkToken(t, into, token)
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	data, object := dataFolder(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "backup.tar")
	refused(t, dir, "FILE is empty", "backup", "", "--data", data)
	refused(t, dir, "--data must name a folder", "backup", file, "--data", "")
	refused(t, dir, "--database-url is set", "backup", file, "--data", data, "--database-url", "postgres://x")
	refused(t, dir, "--objects is set", "restore", file, "--data", data, "--objects", "s3://x")
	refused(t, dir, "has no database", "backup", file, "--data", dir)
	if err := os.Chmod(object, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(object, []byte(uploaded+"x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "is damaged", "backup", file, "--data", data)
	if err := os.Remove(object); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, "the records refer to a file that is not in the data folder", "backup", file, "--data", data)
}

// TestBadArchives restores from archives that are cut off, damaged, hostile or something else:
// the reason is said, and nothing is left.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	data, _ := dataFolder(t)
	file := filepath.Join(t.TempDir(), "backup.tar")
	if _, _, err := run(t, "backup", file, "--data", data); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[bytes.Index(damaged, []byte(uploaded))+1] ^= 1
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":         {nil, "not a backup"},
		"text":            {[]byte(strings.Repeat("not a tar file ", 100)), "not a backup"},
		"another archive": {tarOf(packed{name: "a.csv", text: "x"}), "not a backup"},
		"other format":    {tarOf(packed{name: manifestName, text: `{"format":99}`}), "format 99"},
		"long manifest":   {tarOf(packed{name: manifestName, text: `{"format":1}` + strings.Repeat(" ", maxManifest)}), "not a backup"},
		"cut off":         {whole[:len(whole)/2/512*512+7], "does not fit"},
		"without sums":    {tarOf(noteEntry()), "ends early"},
		"damaged":         {damaged, "is damaged"},
		"more hashes":     {tarOf(noteEntry(), packed{name: archiveSums, text: sumsOf(noteEntry(), packed{name: "objects/a"})}), "more hashes than files"},
		"fewer hashes":    {tarOf(noteEntry(), packed{name: archiveSums}), "more files than hashes"},
		"outside":         {tarOf(noteEntry(), packed{name: "../escaped"}), "no name"},
		"absolute":        {tarOf(noteEntry(), packed{name: "/tmp/escaped"}), "no name"},
		"within":          {tarOf(noteEntry(), packed{name: "objects/../../escaped"}), "no name"},
		"line break":      {tarOf(noteEntry(), packed{name: "objects/a\nb"}), "no name"},
		"link":            {tarOf(noteEntry(), packed{name: "objects/link", kind: tar.TypeSymlink, link: "/etc"}), "no place"},
		"hard link":       {tarOf(noteEntry(), packed{name: "objects/link", kind: tar.TypeLink, link: "/etc/passwd"}), "no place"},
		"device":          {tarOf(noteEntry(), packed{name: "objects/null", kind: tar.TypeChar}), "no place"},
		"another file":    {tarOf(noteEntry(), packed{name: "parley.db-wal", text: "x"}), "no place"},
		"twice":           {summed(noteEntry(), packed{name: "objects/a", text: "x"}, packed{name: "objects/a", text: "y"}), "exists"},
		"no database":     {summed(noteEntry()), "no database"},
		"bad database":    {summed(noteEntry(), packed{name: datadir.DatabaseFile, text: strings.Repeat("x", 4096)}), "not a database"},
		"new database":    {summed(noteEntry(), packed{name: datadir.DatabaseFile}), "no parley tables"},
		"missing files":   {summed(noteEntry(), packed{name: datadir.DatabaseFile, text: databaseOf(t, whole)}), "is not in it"},
		"large":           {tarOf(noteEntry(), packed{name: "objects/a", size: 1 << 40}), "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			bad := filepath.Join(dir, "bad")
			if err := os.WriteFile(bad, test.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, dir, test.want, "restore", bad, "--data", filepath.Join(dir, "data"))
		})
	}
}

// packed is a file of an archive that is made by hand.
type packed struct {
	name, text, link string
	kind             byte
	size             int64
}

func noteEntry() packed { return packed{name: manifestName, text: `{"format":1}`} }

func tarOf(entries ...packed) []byte {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Linkname: e.link, Size: max(e.size, int64(len(e.text))), Mode: 0o600}
		if e.kind != 0 {
			header.Typeflag = e.kind
		}
		if err := w.WriteHeader(header); err != nil {
			panic(err)
		}
		_, _ = w.Write([]byte(e.text))
	}
	_ = w.Close() // one that has too little is what some are
	return text.Bytes()
}

func sumsOf(entries ...packed) string {
	var sums strings.Builder
	for _, e := range entries {
		hash := sha256.Sum256([]byte(e.text))
		sums.WriteString(sumLine(hex.EncodeToString(hash[:]), e.name))
	}
	return sums.String()
}

// summed is tarOf with right hashes.
func summed(entries ...packed) []byte {
	return tarOf(append(entries, packed{name: archiveSums, text: sumsOf(entries...)})...)
}

// databaseOf returns the database of an archive.
func databaseOf(t *testing.T, archive []byte) string {
	t.Helper()
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := files.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == datadir.DatabaseFile {
			var text bytes.Buffer
			if _, err := text.ReadFrom(files); err != nil {
				t.Fatal(err)
			}
			return text.String()
		}
	}
}

// checkToken authenticates as alice with the key of a data folder.
func checkToken(t *testing.T, data, token string) {
	t.Helper()
	key, err := auth.LoadLocalKey(data)
	if err != nil {
		t.Fatal(err)
	}
	authenticator, err := auth.New(auth.Config{LocalKey: key, Tokens: sqlstoretest.SQLite(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer authenticator.Close()
	got, err := authenticator.Session(t.Context(), strings.TrimSpace(token))
	if err != nil || got.Caller.Username != "alice" {
		t.Errorf("the token is of %+v, %v", got.Caller, err)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	refused(t, dir, "USER ", "token", "", "--data", dir)
	refused(t, dir, "USER ", "token", "a/b", "--data", dir)
	refused(t, dir, "must be a duration", "token", "alice", "--data", dir, "--ttl", "1")
	refused(t, dir, "must be a duration", "token", "alice", "--data", dir, "--ttl=-1h")
	refused(t, dir, "--data must name a folder", "token", "alice", "--data", "")
	refused(t, dir, "get tokens from it", "token", "alice", "--data", dir, "--auth-jwks-url", "https://id.example/keys")
	first, log, err := run(t, "token", "Alice", "--data", dir)
	if err != nil || !strings.Contains(log, "had no signing key; made one") {
		t.Fatal(log, err)
	}
	checkToken(t, dir, first)
	if _, log, err := run(t, "token", "alice", "--data", dir); err != nil || log != "" {
		t.Errorf("the second token: %q, %v", log, err)
	}
}
