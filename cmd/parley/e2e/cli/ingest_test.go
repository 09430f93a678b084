package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/s3test"
	"parley/cmd/parley/internal/apiclient"
	"parley/internal/domain"
	"parley/storage/objects"
	"parley/storage/sqlstore"
)

// ingester is a user with files in a folder, in front of a server behind a gate.
type ingester struct {
	t      *testing.T
	server *e2etest.Process
	// gate is what the user speaks to, parts where the parts go through.
	gate, parts *gate
	dir         string
	env         []string
}

func newIngester(t *testing.T, env ...string) *ingester {
	t.Helper()
	server := e2etest.Serve(t, t.TempDir(), env)
	g := newGate(t, server.URL)
	i := &ingester{t: t, server: server, gate: g, parts: g, dir: t.TempDir()}
	i.env = i.as("alice")
	return i
}

// newBucketIngester has the server keep its files in a bucket, behind a gate too.
func newBucketIngester(t *testing.T) *ingester {
	t.Helper()
	endpoint, access, secret := s3test.Server(t)
	bucket := newGate(t, endpoint)
	i := newIngester(t, "AWS_ACCESS_KEY_ID="+access, "AWS_SECRET_ACCESS_KEY="+secret,
		"PARLEY_OBJECTS=s3://"+s3test.Bucket(t)+"/parley?endpoint="+endpoint+"&public_endpoint="+bucket.url+"&region="+s3test.Region+"&path_style=true")
	i.parts = bucket
	return i
}

// as returns the settings of a user.
func (i *ingester) as(user string) []string {
	i.t.Helper()
	return []string{"PARLEY_SERVER=" + i.gate.url, "PARLEY_TOKEN=" + i.server.Token(user), "XDG_CACHE_HOME=" + filepath.Join(i.dir, "cache")}
}

func (i *ingester) write(name, content string) {
	i.t.Helper()
	if err := os.WriteFile(filepath.Join(i.dir, name), []byte(content), 0o600); err != nil {
		i.t.Fatal(err)
	}
}

// run runs a command to its end and checks its exit code.
func (i *ingester) run(code int, args ...string) e2etest.Result {
	i.t.Helper()
	got := e2etest.RunCommand(i.t, i.dir, i.env, args...)
	if got.Code != code {
		i.t.Fatalf("parley %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got.Code, code, got.Stdout, got.Stderr)
	}
	return got
}

// states lists the saved uploads that can be resumed.
func (i *ingester) states() []string {
	i.t.Helper()
	found, err := filepath.Glob(filepath.Join(i.dir, "cache/parley/uploads/*"))
	if err != nil {
		i.t.Fatal(err)
	}
	return found
}

// rows returns how many rows alice's dataset big has.
func (i *ingester) rows() int {
	i.t.Helper()
	var view struct{ Metadata struct{ RowCount int } }
	if err := json.Unmarshal([]byte(i.run(e2etest.ExitOK, "datasets", "shop/big", "--json").Stdout), &view); err != nil {
		i.t.Fatal(err)
	}
	return view.Metadata.RowCount
}

const (
	bigLine = "12345,some words for a row of which there are many,2.50\n"
	// bigRows make three parts.
	bigRows = (20 << 20) / len(bigLine)
)

func bigCSV(rows int) string { return "id,words,price\n" + strings.Repeat(bigLine, rows) }

var ingestBig = []string{"ingest", "big.csv", "--dataset", "shop/big"}

// breakOff starts the command that ingests big.csv, lets the second part through and
// ends it with a signal.
func (i *ingester) breakOff(signal syscall.Signal) e2etest.Result {
	i.t.Helper()
	i.parts.holdAllPartsBut(2)
	cmd := e2etest.Command(i.t, i.dir, i.env, ingestBig...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	e2etest.Eventually(i.t, func() bool {
		stored, held := i.parts.now()
		return len(stored) == 1 && held == 2
	})
	if err := cmd.Process.Signal(signal); err != nil {
		i.t.Fatal(err)
	}
	_ = cmd.Wait()
	i.parts.drop()
	i.parts.forget()
	return e2etest.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// goesOn runs the command again and checks which parts it sends.
func (i *ingester) goesOn(want ...int) e2etest.Result {
	i.t.Helper()
	got := i.run(e2etest.ExitOK, ingestBig...)
	if stored, _ := i.parts.now(); !slices.Equal(stored, want) {
		i.t.Errorf("the second time parts %v were sent, want %v", stored, want)
	}
	if rows := i.rows(); rows != bigRows {
		i.t.Errorf("there are %d rows, want %d", rows, bigRows)
	}
	if left := i.states(); len(left) > 0 {
		i.t.Errorf("afterwards there is %v", left)
	}
	return got
}

func TestIngestGoesOn(t *testing.T) {
	t.Parallel()
	for home, start := range map[string]func(t *testing.T) *ingester{
		"folder": func(t *testing.T) *ingester { return newIngester(t) },
		"bucket": newBucketIngester,
	} {
		t.Run(home, func(t *testing.T) {
			t.Parallel()
			i := start(t)
			i.write("big.csv", bigCSV(bigRows))
			got := i.breakOff(syscall.SIGINT)
			if got.Code != e2etest.ExitInterrupted || !strings.Contains(got.Stderr, "run the same command again to resume") || got.Stdout != "" {
				t.Errorf("interrupted: %+v", got)
			}
			states := i.states()
			if len(states) != 1 {
				t.Fatalf("there is %v", states)
			}
			if info, err := os.Stat(states[0]); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the state is %v, %v", info.Mode(), err)
			}
			if text, _ := os.ReadFile(states[0]); bytes.Contains(text, []byte("eyJ")) {
				t.Errorf("a token was kept: %s", text)
			}
			got = i.goesOn(1, 3)
			for _, want := range []string{"sent 12.0 MiB", "8.0 MiB were there already"} {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("no %q in:\n%s", want, got.Stderr)
				}
			}
			if want := strconv.Itoa(bigRows) + " rows"; !strings.Contains(got.Stdout, want) || !strings.Contains(got.Stdout, "price   number") {
				t.Errorf("no %q in:\n%s", want, got.Stdout)
			}
		})
	}
}

// TestIngestAfterKill has the client killed, and then what it had sent changed in
// ways that make it begin anew.
func TestIngestAfterKill(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(i *ingester)
		want      []int
	}{
		"nothing": {func(*ingester) {}, []int{1, 3}},
		"the file was written again": {func(i *ingester) {
			later := time.Now().Add(time.Minute)
			if err := os.Chtimes(filepath.Join(i.dir, "big.csv"), later, later); err != nil {
				t.Fatal(err)
			}
		}, []int{1, 2, 3}},
		"the upload was aborted": {func(i *ingester) {
			var state apiclient.Upload
			text, _ := os.ReadFile(i.states()[0])
			if err := json.Unmarshal(text, &state); err != nil {
				t.Fatal(err)
			}
			if status, body := i.server.Call(i.server.Token("alice"), http.MethodPost, "/api/v1/file-upload/"+state.SessionID+"/abort", ""); status != http.StatusOK {
				t.Fatalf("abort: %d %s", status, body)
			}
		}, []int{1, 2, 3}},
		"the state is nonsense": {func(i *ingester) {
			if err := os.WriteFile(i.states()[0], []byte(`{"sessionId":`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []int{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newIngester(t)
			i.write("big.csv", bigCSV(bigRows))
			if got := i.breakOff(syscall.SIGKILL); got.Code == e2etest.ExitOK {
				t.Fatalf("killed: %+v", got)
			}
			test.meanwhile(i)
			if name == "the file was written again" {
				old := i.states()
				i.run(e2etest.ExitOK, ingestBig...)
				for _, state := range old {
					_ = os.Remove(state) // it would go in a week
				}
				if stored, _ := i.parts.now(); !slices.Equal(stored, test.want) {
					t.Errorf("parts %v were sent, want %v", stored, test.want)
				}
				return
			}
			i.goesOn(test.want...)
		})
	}
}

// TestIngestOverARestart kills the server in the middle of an upload: the client
// waits for the next one and sends what that one lacks.
func TestIngestOverARestart(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	i.parts.holdAllPartsBut(2)
	done := make(chan e2etest.Result, 1)
	go func() { done <- e2etest.RunCommand(t, i.dir, i.env, ingestBig...) }()
	e2etest.Eventually(t, func() bool {
		stored, held := i.parts.now()
		return len(stored) == 1 && held == 2
	})
	i.server.Signal(syscall.SIGKILL)
	i.server.Wait()
	i.parts.drop()
	i.server = e2etest.Serve(t, i.server.Dir, i.server.Env)
	i.gate.aim(t, i.server.URL)
	if got := <-done; got.Code != e2etest.ExitOK {
		t.Fatalf("%+v", got)
	}
	if stored, _ := i.parts.now(); !slices.Equal(stored, []int{1, 2, 3}) {
		t.Errorf("parts %v were stored", stored)
	}
	if rows := i.rows(); rows != bigRows {
		t.Errorf("%d rows", rows)
	}
}

// TestIngestWithExpiredAddresses has parts go to addresses that have expired.
func TestIngestWithExpiredAddresses(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	past := i.hourAgo()
	var late atomic.Int32
	i.gate.watch(func(r *http.Request) {
		if part(r) == 0 || late.Add(1) > 3 {
			return
		}
		query := r.URL.Query()
		size, _ := strconv.ParseInt(query.Get("size"), 10, 64)
		address, err := past.PartURL(t.Context(), "alice", objects.Upload{Key: query.Get("key"), ID: query.Get("uploadId")}, part(r), size, time.Second)
		if err != nil {
			t.Error(err)
		}
		_, r.URL.RawQuery, _ = strings.Cut(address, "?")
	})
	i.goesOn(1, 2, 3)
	if late.Load() <= 3 {
		t.Errorf("only %d parts were sent", late.Load())
	}
}

// hourAgo signs addresses as the server would have an hour ago.
func (i *ingester) hourAgo() *objects.Folder {
	i.t.Helper()
	store, err := sqlstore.Open(i.t.Context(), sqlstore.Config{Path: filepath.Join(i.server.Dir, "parley-data", "parley.db")})
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	secret, err := store.SigningKey(i.t.Context(), domain.KeyForUploads)
	if err != nil {
		i.t.Fatal(err)
	}
	folder, err := objects.OpenFolder(objects.FolderConfig{
		Dir: i.t.TempDir(), Secret: secret, BaseURL: func(context.Context) string { return "" },
		Now: func() time.Time { return time.Now().Add(-time.Hour) },
	})
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(func() { _ = folder.Close() })
	return folder
}

// TestIngestHearsNoAnswer loses the answer that says that the ingestion has begun:
// the client asks again, and the rows are there once.
func TestIngestHearsNoAnswer(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	var lost atomic.Int32
	i.gate.watch(func(r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/ingest") && lost.Add(1) == 1 {
			body := new(bytes.Buffer)
			_, _ = body.ReadFrom(r.Body)
			if status, text := i.server.Call(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Method, r.URL.Path, body.String()); status != http.StatusAccepted {
				t.Errorf("%d %s", status, text)
			}
			panic(http.ErrAbortHandler)
		}
	})
	i.goesOn(1, 2, 3)
	if lost.Load() != 2 {
		t.Errorf("asked %d times", lost.Load())
	}
}

func TestIngestSeveralFiles(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("a.csv", "id,item\n1,apple\n2,pear\n")
	i.write("b.json", `[{"id":3,"item":"fig","price":1.5}]`)
	got := i.run(e2etest.ExitOK, "ingest", "a.csv", "b.json", "--dataset", "shop/big", "--union", "--description", "What we \x1b[31msold")
	want := `3 rows from a.csv and 1 more
alice/shop/big: 3 rows, 3 columns
What we \x1b[31msold

column  type
------  -------
id      integer
item    text
price   number
`
	if diff := cmp.Diff(want, got.Stdout); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
	i.run(e2etest.ExitOK, "ingest", "a.csv", "--dataset", "shop/big", "--mode", "replace")
	if rows := i.rows(); rows != 2 {
		t.Errorf("replaced: %d rows", rows)
	}
	i.run(e2etest.ExitOK, "ingest", "a.csv", "--dataset", "alice/shop/big")
	if rows := i.rows(); rows != 4 {
		t.Errorf("appended: %d rows", rows)
	}
	var begun, ended struct {
		Ingestion apiclient.Ingestion
		Dataset   struct{ Name, Namespace, Owner string }
	}
	for into, args := range map[any][]string{&begun: {"--no-wait"}, &ended: nil} {
		got := i.run(e2etest.ExitOK, append([]string{"ingest", "a.csv", "--dataset", "shop/other", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(got.Stdout), into); err != nil {
			t.Fatalf("%v: %s", err, got.Stdout)
		}
	}
	if begun.Ingestion.ID == "" || ended.Ingestion.ProcessedRows != 2 || ended.Dataset != struct{ Name, Namespace, Owner string }{"other", "shop", "alice"} {
		t.Errorf("%+v, %+v", begun, ended)
	}
}

func TestIngestRefusals(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("good.csv", "id\n1\n")
	i.write("bad.csv", "a,b\n1,2\n3,4,5\n")
	i.write("empty.csv", "")
	if err := syscall.Mkfifo(filepath.Join(i.dir, "pipe.csv"), 0o600); err != nil {
		t.Fatal(err)
	}
	i.run(e2etest.ExitOK, "ingest", "good.csv", "--dataset", "shop/mine")
	to := []string{"--dataset", "shop/big"}
	for name, test := range map[string]struct {
		env  []string
		args []string
		code int
		want []string
	}{
		"files":                 {nil, append([]string{"good.csv", "nothing.csv", "empty.csv", ".", "pipe.csv"}, to...), e2etest.ExitFailed, []string{"no file nothing.csv", "empty.csv is empty", ". is a folder", "pipe.csv is not a regular file"}},
		"no dataset":            {nil, []string{"good.csv"}, e2etest.ExitUsage, []string{"--dataset"}},
		"half a name":           {nil, []string{"good.csv", "--dataset", "shop"}, e2etest.ExitUsage, []string{"NAMESPACE/NAME"}},
		"a wrong name":          {nil, []string{"good.csv", "--dataset", "shop/a b", "--mode", "guess"}, e2etest.ExitUsage, []string{"'a b'", "--mode must be"}},
		"no token":              {[]string{"PARLEY_TOKEN="}, append([]string{"good.csv"}, to...), e2etest.ExitNotSignedIn, []string{"parley token USER"}},
		"a wrong token":         {[]string{"PARLEY_TOKEN=x"}, append([]string{"good.csv"}, to...), e2etest.ExitNotSignedIn, []string{"parley token USER"}},
		"no server":             {[]string{"PARLEY_SERVER=http://127.0.0.1:1"}, append([]string{"good.csv"}, to...), e2etest.ExitUnavailable, []string{"http://127.0.0.1:1", "parley serve"}},
		"not shared":            {i.as("bob"), []string{"good.csv", "--dataset", "alice/shop/mine"}, e2etest.ExitNotFound, []string{"alice/shop/mine", "parley datasets"}},
		"bad rows":              {nil, append([]string{"bad.csv"}, to...), e2etest.ExitFailed, []string{"bad.csv was not ingested", "line 3", "shop/big, which was made for it, is removed again"}},
		"where rows are":        {nil, []string{"bad.csv", "--dataset", "shop/mine"}, e2etest.ExitFailed, []string{"bad.csv was not ingested"}},
		"to be made by another": {i.as("bob"), []string{"good.csv", "--dataset", "alice/shop/new"}, e2etest.ExitNotFound, []string{"only alice can make datasets there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := e2etest.RunCommand(t, i.dir, append(slices.Clone(i.env), test.env...), append([]string{"ingest"}, test.args...)...)
			if got.Code != test.code || got.Stdout != "" {
				t.Errorf("exit code %d, want %d: %s", got.Code, test.code, got.Stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("no %q in:\n%s", want, got.Stderr)
				}
			}
		})
	}
}

// TestIngestMakesADataset makes one by its owner's name, and removes what it has made
// when there is nothing to put there.
func TestIngestMakesADataset(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("good.csv", "id\n1\n")
	i.write("bad.csv", "a,b\n1,2\n3,4,5\n")
	i.run(e2etest.ExitFailed, "ingest", "bad.csv", "--dataset", "shop/big")
	i.run(e2etest.ExitNotFound, "datasets", "shop/big")
	i.run(e2etest.ExitOK, "ingest", "good.csv", "--dataset", "Alice/shop/big")
	i.run(e2etest.ExitFailed, "ingest", "bad.csv", "--dataset", "shop/big")
	if rows := i.rows(); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

// TestIngestOfAForbiddenFile is for those who are not allowed everything.
func TestIngestOfAForbiddenFile(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may read every file")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.csv"), []byte("id\n1\n"), 0o000); err != nil {
		t.Fatal(err)
	}
	got := e2etest.RunCommand(t, dir, []string{"PARLEY_TOKEN=x"}, "ingest", "mine.csv", "--dataset", "shop/big")
	if got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "open mine.csv: permission denied") {
		t.Errorf("%+v", got)
	}
}
