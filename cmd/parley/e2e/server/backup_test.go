package server

import (
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
	fulltest.Only(t)
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
