package datasets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/disk"
	"parley/internal/domain"
	"parley/storage/datasets/engine"
	"parley/storage/datasets/ingest"
)

func TestIngester(t *testing.T) {
	t.Parallel()
	ingester, dir := NewIngester(IngesterConfig{}), t.TempDir()
	source := func(name, text string) ingest.Source {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ingest.Source{Path: path, Name: name}
	}
	made, err := ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{source("a.csv", "id,name\n1,a\n2,b\n")}, OutDir: filepath.Join(dir, "a")})
	if err != nil || made.Rows != 2 || len(made.Files) != 1 || len(made.Columns) != 2 {
		t.Fatalf("made %+v, %v", made, err)
	}
	more, err := ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{source("b.csv", "id,name,price\n3,c,1.5\n")}, Have: made.Columns, OutDir: filepath.Join(dir, "b")})
	if err != nil || len(more.Columns) != 3 {
		t.Fatalf("made more %+v, %v", more, err)
	}
	whole := filepath.Join(dir, "whole")
	if err := os.Mkdir(whole, 0o700); err != nil {
		t.Fatal(err)
	}
	file, err := ingester.Compact(t.Context(), Admission{User: "alice"}, []string{made.Files[0].Path, more.Files[0].Path}, more.Columns, whole)
	if err != nil || file.Rows != 3 || file.SHA256 == "" {
		t.Errorf("compacted %+v, %v", file, err)
	}

	_, err = ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{source("bad.csv", "id,name\n1,a\n2\n")}, OutDir: filepath.Join(dir, "bad")})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "bad.csv, line 3") {
		t.Errorf("a ragged file: %v", err)
	}
	_, err = ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: filepath.Join(dir, "gone.csv"), Name: "gone.csv"}}, OutDir: filepath.Join(dir, "gone")})
	if err == nil || errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a missing file is a fault of ours: %v", err)
	}
}

func TestIngesterStops(t *testing.T) {
	t.Parallel()
	ingester, dir := NewIngester(IngesterConfig{}), t.TempDir()
	path := filepath.Join(dir, "long.csv")
	if err := os.WriteFile(path, []byte("id,name\n"+strings.Repeat("1,a\n", 2_000_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	job := ingest.Job{Sources: []ingest.Source{{Path: path, Name: "long.csv"}}, OutDir: filepath.Join(dir, "out"), Progress: func(ingest.Progress) { cancel() }}
	if _, err := ingester.Ingest(ctx, Admission{User: "alice"}, job); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped in the middle: %v", err)
	}
	cancel()
	if files, err := filepath.Glob(filepath.Join(dir, "out", "*.parquet")); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	broken := NewIngester(IngesterConfig{Command: func() (string, []string, []string) { return "/bin/false", nil, nil }})
	if _, err := broken.Ingest(t.Context(), Admission{User: "alice"}, job); err == nil || errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a process that says nothing: %v", err)
	}
}

// One user's jobs neither take all places nor keep another's waiting; those that
// wait are few, but for those that are unbounded.
func TestIngesterTurns(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var begun atomic.Int32
	ingester := NewIngester(IngesterConfig{Jobs: 3})
	command := ingester.config.Command
	ingester.wait, ingester.config.Command = time.Hour, func() (string, []string, []string) {
		if begun.Add(1) <= 3 { // one is in the slot for short jobs
			<-gate
		}
		return command()
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(path, []byte("id,name\n1,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	job := func(name string) ingest.Job {
		return ingest.Job{Sources: []ingest.Source{{Path: path, Name: "a.csv"}}, OutDir: filepath.Join(dir, name)}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	flood := func(jobs int, unbounded bool) {
		for range jobs {
			done.Go(func() {
				if _, err := ingester.Ingest(ctx, Admission{User: "alice", Unbounded: unbounded}, job("alice")); !errors.Is(err, context.Canceled) {
					t.Errorf("alice's: %v", err)
				}
			})
		}
	}
	flood(2+userJobsWaiting, false)
	waittest.Until(t, "three run, a queue is full", func() bool { return begun.Load() == 3 && ingester.Stats().Waiting == userJobsWaiting })
	if _, err := ingester.Ingest(ctx, Admission{User: "alice"}, job("alice")); !errors.Is(err, domain.ErrTooMany) || !strings.Contains(err.Error(), "too many of your files to be made") {
		t.Errorf("one too many: %v", err)
	}
	flood(1, true)
	waittest.Until(t, "one more waits", func() bool { return ingester.Stats().Waiting == userJobsWaiting+1 })
	if made, err := ingester.Ingest(t.Context(), Admission{User: "bob"}, job("bob")); err != nil || made.Rows != 1 {
		t.Errorf("bob's: %+v, %v", made, err)
	}
	cancel()
	close(gate)
	done.Wait()
	if now := ingester.Stats(); now.Running != 0 || now.Waiting != 0 {
		t.Errorf("left behind: %+v", now)
	}
}

// TestShortJobAmongLongOnes has long jobs hold all usual slots. A short one of another user does
// not wait for them; one that turns out to be long starts again when a usual slot is free.
func TestShortJobAmongLongOnes(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var begun atomic.Int32
	ingester := NewIngester(IngesterConfig{Jobs: 3})
	command := ingester.config.Command
	ingester.wait, ingester.config.Command = time.Hour, func() (string, []string, []string) {
		if begun.Add(1) <= 3 {
			<-gate
		}
		return command()
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(path, []byte("id,name\n1,a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(user string) error {
		out := filepath.Join(dir, user+fmt.Sprint(begun.Load()))
		made, err := ingester.Ingest(t.Context(), Admission{User: user}, ingest.Job{Sources: []ingest.Source{{Path: path, Name: "a.csv"}}, OutDir: out})
		if err != nil {
			return err
		}
		if left, err := os.ReadDir(out); err != nil || len(left) != 1 || made.Rows != 1 {
			return fmt.Errorf("%d rows, left are %v, %w", made.Rows, left, err)
		}
		return nil
	}
	var done sync.WaitGroup
	start := func(user string) {
		before := begun.Load()
		done.Go(func() {
			if err := read(user); err != nil {
				t.Errorf("%s: %v", user, err)
			}
		})
		waittest.Until(t, user+"'s job has begun", func() bool { return begun.Load() > before })
	}
	start("alice")
	start("alice")
	start("bob")
	if err := read("carol"); err != nil {
		t.Errorf("carol: %v", err)
	}
	ingester.lanes.meter.timeout = time.Nanosecond
	start("dave")
	waittest.Until(t, "dave's job is known to be long", func() bool { return ingester.lanes.heavy("dave") })
	close(gate)
	done.Wait()
}

// Where DuckDB may not spill more because the disk has no room, the file is not to
// blame.
func TestSpillOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var rows strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&rows, "%d,%s\n", i, strings.Repeat(strconv.Itoa(i*7919), 20))
	}
	path := filepath.Join(dir, "rows.csv")
	if err := os.WriteFile(path, []byte("a,b\n"+rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := disk.Free(dir)
	if err != nil || free == 0 {
		t.Fatalf("%d bytes are free, %v", free, err)
	}
	// Among so many jobs each has a share of about a megabyte.
	ingester := NewIngester(IngesterConfig{Memory: 40 << 20, Jobs: int(free>>21) + 1})
	_, err = ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{Sources: []ingest.Source{{Path: path, Name: "rows.csv"}}, OutDir: filepath.Join(dir, "out")})
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, domain.ErrInvalid) || reasonOf(err) != "there is no room left on the server's disk; try again later" {
		t.Error(err)
	}
}

// A file of some kilobytes that decodes to more than a gigabyte is refused, and
// takes nothing of the disk.
func TestIngesterAmplification(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := parquetTable(t, dir, "wide", "SELECT repeat('x', 1000000) AS s FROM range(1100)")
	info, err := os.Stat(table.Files[0])
	if err != nil || info.Size() > 64<<10 {
		t.Fatalf("a file of %d bytes, %v", info.Size(), err)
	}
	out := filepath.Join(dir, "out")
	_, err = NewIngester(IngesterConfig{}).Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: table.Files[0], Name: "wide.parquet"}}, OutDir: out})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "wide.parquet is too large when decoded: 1.0 GiB of values") {
		t.Error(err)
	}
	if left := snapshot(t, out); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// Rows that are too long for little memory are made with more of it, and with no
// more than is allowed.
func TestIngesterMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "long.csv")
	row := "x" + strings.Repeat(",", 3) + strings.Repeat("long ", 1_900_000/5) + "\n"
	if err := os.WriteFile(path, []byte("a,b,c,d\n"+strings.Repeat(row, 60)), 0o600); err != nil {
		t.Fatal(err)
	}
	job := ingest.Job{Sources: []ingest.Source{{Path: path, Name: "long.csv"}}, OutDir: filepath.Join(dir, "out")}
	if made, err := NewIngester(IngesterConfig{Memory: engine.InitialMemoryLimit}).Ingest(t.Context(), Admission{User: "alice"}, job); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "more memory") {
		t.Errorf("with little memory alone: %+v, %v", made, err)
	}
	if made, err := NewIngester(IngesterConfig{}).Ingest(t.Context(), Admission{User: "alice"}, job); err != nil || made.Rows != 60 {
		t.Errorf("made %+v, %v", made, err)
	}
}

// What the system does not allow is in the log once.
func TestIngesterLacks(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	ingester := NewIngester(IngesterConfig{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for _, lacks := range [][]string{nil, {"landlock"}, {"landlock"}} {
		ingester.warn(lacks)
	}
	if strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "landlock") {
		t.Errorf("the log says: %s", log.String())
	}
}
