package server

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// What a data folder and an archive of it hold.
const (
	databaseFile = "parley.db"
	restoringDir = "restoring"
	archiveNote  = "parley-backup.json"
	archiveSums  = "SHA256SUMS"
)

// fullShop makes a server with datasets of many files, an upload and answered
// questions.
func fullShop(t *testing.T, dir string) (e2etest.Client, []e2etest.Asked) {
	t.Helper()
	p := e2etest.Serve(t, dir, nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	text := e2etest.CSV(500)
	for i := range 3 {
		dataset := fmt.Sprint("shop/orders", i)
		c.Ask("POST", "/ingest/new/shop/"+fmt.Sprint("orders", i), nil, nil)
		for range 3 {
			c.Ingest(dataset, c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
		}
		c.Settled(dataset)
	}
	c.Ask("POST", "/ingest/new/shop/"+"churn", nil, nil)
	var runs []e2etest.Asked
	for range 3 {
		run, _ := c.SendMessage("nl2ql", e2etest.Message(`"metadata":{"namespace":"shop"}`))
		runs = append(runs, run)
	}
	return c, runs
}

// churnRows is how many rows are added at a time.
const churnRows = 50

// churn adds rows until files are made one, uploads, and asks questions, until
// done is closed.
func churn(c e2etest.Client, done <-chan struct{}) *sync.WaitGroup {
	var work sync.WaitGroup
	rows := `{"data":[` + strings.TrimSuffix(strings.Repeat(`{"n":1},`, churnRows), ",") + `]}`
	work.Go(func() {
		until(done, func() { _, _, _ = c.Try(c.Token, "POST", "/api/v1/ingest/shop/churn", strings.NewReader(rows)) })
	})
	work.Go(func() {
		until(done, func() {
			_, _, _ = c.Try(c.Token, "POST", "/api/v1/query/autorag", strings.NewReader(`{"username":"self","namespace":"shop","query":"How many orders are there?"}`))
		})
	})
	work.Go(func() {
		until(done, func() {
			uploadAndIngest(c.Process, c.Token, "shop/churn2", upload{name: "a.csv", content: []byte(e2etest.CSV(20))})
		})
	})
	return &work
}

// TestBackupWhileServing backs up under load, several times, and restores each
// backup: what was there before is, as it was, and what was changing is whole.
func TestBackupWhileServing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, runs := fullShop(t, dir)
	c.Ask("POST", "/ingest/new/shop/"+"churn2", nil, nil)
	before := belongings(c, runs[:1])
	done := make(chan struct{})
	work := churn(c, done)
	var backups []string
	for i := range fulltest.Count(2, 3) {
		file := filepath.Join(dir, fmt.Sprint("backup", i, ".tar"))
		if got := e2etest.RunCommand(t, dir, nil, "backup", file); got.Code != e2etest.ExitOK || !strings.Contains(got.Stderr, "checked") {
			t.Errorf("backup: %+v", got)
		}
		backups = append(backups, file)
	}
	close(done)
	work.Wait()
	c.Signal(syscall.SIGTERM)
	c.Wait()
	for _, file := range backups {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%v %v", info, err)
		}
		if _, err := os.Stat(file + ".partial"); err == nil {
			t.Errorf("%s.partial is left", file)
		}
		elsewhere := t.TempDir()
		if got := e2etest.RunCommand(t, elsewhere, nil, "restore", file); got.Code != e2etest.ExitOK {
			t.Fatalf("restore: %+v", got)
		}
		checkModes(t, filepath.Join(elsewhere, "parley-data"))
		// The token was signed with the key that was restored.
		restored := e2etest.Client{Process: e2etest.Serve(t, elsewhere, nil), Token: c.Token}
		for i := range 3 {
			if got := restored.Count(fmt.Sprint("shop/orders", i)); got != 1500 {
				t.Errorf("rows of orders%d: %d", i, got)
			}
		}
		if got := belongings(restored, runs[:1]); stable(got) != stable(before) {
			t.Errorf("what a user reads was\n%s\nand is\n%s", stable(before), stable(got))
		}
		restored.Settled("shop/churn2")
		if got := restored.Count("shop/churn2"); got%20 != 0 {
			t.Errorf("%d rows of churn2", got)
		}
		if got := restored.Count("shop/churn"); got%churnRows != 0 {
			t.Errorf("%d rows of churn", got)
		}
		restored.CheckAllEnded(len(runs))
		restored.Signal(syscall.SIGTERM)
		restored.Wait()
	}
}

// stable leaves out the lists, which grow.
func stable(belongings string) string {
	return strings.Join(strings.Split(belongings, "\n")[:2], "\n")
}

func checkModes(t *testing.T, data string) {
	t.Helper()
	err := filepath.WalkDir(data, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && (info.IsDir() && info.Mode().Perm() != 0o700 ||
			!info.IsDir() && info.Mode().Perm() != 0o600 && !strings.Contains(path, "/objects/")) {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// madeBackup returns a backup of a server that has stopped.
func madeBackup(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	c, _ := fullShop(t, dir)
	c.Signal(syscall.SIGTERM)
	c.Wait()
	file = filepath.Join(dir, "backup.tar")
	if got := e2etest.RunCommand(t, dir, nil, "backup", file); got.Code != e2etest.ExitOK {
		t.Fatalf("backup: %+v", got)
	}
	return dir, file
}

// TestBackupKilled kills backups and restores at random moments. What has its
// name is whole, and doing it again works.
func TestBackupKilled(t *testing.T) {
	t.Parallel()
	dir, file := madeBackup(t)
	killed := func(args ...string) {
		cmd := e2etest.Command(t, dir, nil, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for i := range fulltest.Count(3, 6) {
		again := filepath.Join(dir, fmt.Sprint("again", i))
		killed("backup", again)
		if _, err := os.Stat(again); err != nil {
			if got := e2etest.RunCommand(t, dir, nil, "backup", again); got.Code != e2etest.ExitOK {
				t.Fatalf("backup after a kill: %+v", got)
			}
		}
		data := filepath.Join(dir, fmt.Sprint("data", i))
		killed("restore", file, "--data", data)
		if e2etest.Exists(data, restoringDir) && !e2etest.Exists(data, databaseFile) {
			if got := e2etest.RunCommand(t, dir, nil, "migrate", "--data", data); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "was interrupted") {
				t.Errorf("migrate in the middle of a restore: %+v", got)
			}
		}
		if !e2etest.Exists(data, databaseFile) {
			if got := e2etest.RunCommand(t, dir, nil, "restore", again, "--data", data); got.Code != e2etest.ExitOK {
				t.Fatalf("restore after a kill: %+v", got)
			}
		}
		p := e2etest.Serve(t, dir, nil, "--data", data)
		c := e2etest.Client{Process: p, Token: p.Token("alice", "--data", data)}
		if got := c.Count("shop/orders2"); got != 1500 {
			t.Errorf("%d rows after kill %d", got, i)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
	}
}

// TestBadArchives restores from archives that are cut off, damaged, hostile or
// something else: the reason is said, and nothing is left.
func TestBadArchives(t *testing.T) {
	t.Parallel()
	dir, file := madeBackup(t)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(whole)
	damaged[bytes.Index(damaged, []byte("PAR1"))+100] ^= 1
	for name, test := range map[string]struct {
		archive []byte
		want    string
	}{
		"nothing":       {nil, "not a backup"},
		"text":          {[]byte(strings.Repeat("not a tar file ", 100)), "not a backup"},
		"cut off":       {whole[:len(whole)/2/512*512+7], "does not fit"},
		"without sums":  {tarOf(noteEntry()), "ends early"},
		"damaged":       {damaged, "is damaged"},
		"other format":  {tarOf(packed{name: archiveNote, text: `{"format":99}`}), "format 99"},
		"outside":       {tarOf(noteEntry(), packed{name: "../escaped"}), "no name"},
		"absolute":      {tarOf(noteEntry(), packed{name: "/tmp/escaped"}), "no name"},
		"within":        {tarOf(noteEntry(), packed{name: "objects/../../escaped"}), "no name"},
		"link":          {tarOf(noteEntry(), packed{name: "objects/link", kind: tar.TypeSymlink, link: "/etc"}), "no place"},
		"hard link":     {tarOf(noteEntry(), packed{name: "objects/link", kind: tar.TypeLink, link: "/etc/passwd"}), "no place"},
		"device":        {tarOf(noteEntry(), packed{name: "objects/null", kind: tar.TypeChar}), "no place"},
		"another file":  {tarOf(noteEntry(), packed{name: "parley.db-wal", text: "x"}), "no place"},
		"twice":         {summed(noteEntry(), packed{name: "objects/a", text: "x"}, packed{name: "objects/a", text: "y"}), "exists"},
		"no database":   {summed(noteEntry()), "no database"},
		"bad database":  {summed(noteEntry(), packed{name: databaseFile, text: strings.Repeat("x", 4096)}), "not a database"},
		"new database":  {summed(noteEntry(), packed{name: databaseFile, text: ""}), "no parley tables"},
		"missing files": {summed(databaseOf(t, whole)...), "is not in it"},
		"large":         {tarOf(noteEntry(), packed{name: "objects/a", size: 1 << 40}), "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			into := t.TempDir()
			if err := os.WriteFile(filepath.Join(into, "bad"), test.archive, 0o600); err != nil {
				t.Fatal(err)
			}
			got := e2etest.RunCommand(t, into, nil, "restore", "bad")
			if got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v, want %q", got, test.want)
			}
			if left, err := os.ReadDir(into); err != nil || len(left) != 1 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
	if got := e2etest.RunCommand(t, dir, nil, "restore", file); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "not empty") {
		t.Errorf("restore into a full folder: %+v", got)
	}
	if got := e2etest.RunCommand(t, dir, nil, "backup", file); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "there already") {
		t.Errorf("backup to a file that is there: %+v", got)
	}
}

// TestBackupRefuses what is missing or damaged in the data folder, and homes
// that are elsewhere.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	dir, _ := madeBackup(t)
	refused := func(want string, code int, env []string) {
		t.Helper()
		got := e2etest.RunCommand(t, dir, env, "backup", "refused.tar")
		if got.Code != code || !strings.Contains(got.Stderr, want) || e2etest.Exists(dir, "refused.tar") || e2etest.Exists(dir, "refused.tar.partial") {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	refused("--database-url", e2etest.ExitUsage, []string{"PARLEY_DATABASE_URL=postgres://x"})
	refused("--objects", e2etest.ExitUsage, []string{"PARLEY_OBJECTS=s3://x"})
	refused("has no database", e2etest.ExitFailed, []string{"PARLEY_DATA=" + t.TempDir()})
	files, err := filepath.Glob(filepath.Join(dir, "parley-data/objects/objects/datasets/*/*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	// All of them: some may be of a version that no dataset has any more.
	for _, file := range files {
		text := []byte(e2etest.ReadFile(t, file))
		text[len(text)/2] ^= 1
		if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	refused("is damaged", e2etest.ExitFailed, nil)
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	refused("starting again", e2etest.ExitFailed, nil)
}

// packed is a file of an archive that is made by hand.
type packed struct {
	name, text, link string
	kind             byte
	size             int64
}

func noteEntry() packed { return packed{name: archiveNote, text: `{"format":1}`} }

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

// summed is tarOf with right hashes.
func summed(entries ...packed) []byte {
	var sums strings.Builder
	for _, e := range entries {
		hash := sha256.Sum256([]byte(e.text))
		sums.WriteString(hex.EncodeToString(hash[:]) + "  " + e.name + "\n")
	}
	return tarOf(append(entries, packed{name: archiveSums, text: sums.String()})...)
}

// databaseOf leaves an archive its database and nothing else.
func databaseOf(t *testing.T, archive []byte) []packed {
	t.Helper()
	files := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := files.Next()
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == databaseFile {
			var text bytes.Buffer
			if _, err := text.ReadFrom(files); err != nil {
				t.Fatal(err)
			}
			return []packed{noteEntry(), {name: databaseFile, text: text.String()}}
		}
	}
}
