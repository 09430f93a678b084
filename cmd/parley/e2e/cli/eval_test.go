package cli

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/logtest"
)

// garden is the suite of the tests.
func garden(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("testdata", "eval", "garden"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var measured = regexp.MustCompile(`("ms":|(?:loaded|asked) in |p50 |p99 )[0-9.]+`)

func scrubTimes(text string) []byte {
	return measured.ReplaceAll(bytes.ReplaceAll([]byte(text), []byte("\r"), nil), []byte("${1}#"))
}

// TestEval measures a model on a suite, with settings around that are not meant
// for the server that it starts.
func TestEval(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := append(e2etest.GardenModel(t).Env(), "PARLEY_DATABASE_URL=postgres://nobody@127.0.0.1:1/none", "PARLEY_AUTH_ISSUER=https://idp.example",
		"PARLEY_LISTEN=192.0.2.1:80", "LANGFUSE_HOST=half", "OTEL_TRACES_SAMPLER=odd", "TMPDIR="+dir)
	got := e2etest.RunCommand(t, dir, env, "eval", garden(t), "--out", "results.jsonl", "--pairs", "one table+count")
	if got.Code != e2etest.ExitOK || got.Stderr != "" {
		t.Fatalf("%+v", got)
	}
	golden.Assert(t, "eval/report.txt", scrubTimes(got.Stdout))
	results, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, "eval/results.jsonl", scrubTimes(string(results)))
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestEvalByReader needs no model. What the reader knows is tested with it; these
// questions are among it.
func TestEvalByReader(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	for _, agent := range []string{"nl2ql", "assistant"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			got := e2etest.RunCommand(t, t.TempDir(), nil, "eval", garden(t), "--agent", agent, "--limit", "1", "--parallel", "3", "--failures", "0")
			if got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "garden: 1 questions about 2 tables in 1 namespaces, asked of "+agent) ||
				!regexp.MustCompile(`\n +all +1 +100\.0 % +100\.0 % +100\.0 %`).MatchString(got.Stdout) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestEvalOnServer loads the suite into a server once, brings it up to date, and
// leaves alone what is not the suite's.
func TestEvalOnServer(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), e2etest.GardenModel(t).Env())
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	suite := filepath.Join(t.TempDir(), "garden")
	if err := os.CopyFS(suite, os.DirFS(garden(t))); err != nil {
		t.Fatal(err)
	}
	run := func(wantCode int, want string) {
		t.Helper()
		got := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_TOKEN=" + c.Token}, "eval", suite, "--server", p.URL+"/")
		if got.Code != wantCode || !strings.Contains(got.Stdout+got.Stderr, want) {
			t.Errorf("exit code %d without %q:\n%s%s", got.Code, want, got.Stdout, got.Stderr)
		}
	}
	accuracy := "all      7    42.9 %"
	run(e2etest.ExitOK, accuracy)
	before := c.Ingestions("beds/plants")
	run(e2etest.ExitOK, accuracy)
	if after := c.Ingestions("beds/plants"); len(after) != 1 || after[0].ID != before[0].ID {
		t.Errorf("what is there already was loaded again: %+v", after)
	}

	plants := filepath.Join(suite, "beds", "tables", "plants.csv")
	text, err := os.ReadFile(plants)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plants, append(text, "7,basil,2,30,\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	run(e2etest.ExitOK, "all      7    14.3 %")
	if got := c.Count("beds/plants"); got != 7 {
		t.Errorf("plants: %d", got)
	}

	if status := c.Ask(http.MethodPost, "/ingest/walks/notes", e2etest.Object{"data": []e2etest.Object{{"a": 1}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	run(e2etest.ExitFailed, "the namespace walks has a dataset notes that is not of the suite garden")
	// Others see nothing of it, and have the names to themselves.
	c.Token = p.Token("bob")
	if status := c.Ask(http.MethodPost, "/ingest/beds/plants", e2etest.Object{"data": []e2etest.Object{{"a": 1}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	run(e2etest.ExitFailed, "the namespace beds has a dataset plants that is not of the suite garden")
	if got := c.Count("beds/plants"); got != 1 {
		t.Errorf("bob's plants: %d", got)
	}
	c.Token = "wrong"
	run(e2etest.ExitNotSignedIn, "the server says 401")
}

// TestEvalInterrupted ends a measurement while its second question hangs.
func TestEvalInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := e2etest.NewModel(t, e2etest.Queries("How many plants are there?", "", "SELECT count(*) AS n FROM plants"), e2etest.ModelLine{Job: e2etest.QueryJob, Hang: true})
	var stdout, stderr logtest.Buffer
	cmd := e2etest.Command(t, dir, append(model.Env(), "TMPDIR="+dir), "eval", garden(t), "--out", "results.jsonl", "--parallel", "1")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2etest.Eventually(t, func() bool {
		results, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
		return err == nil && bytes.Count(results, []byte("\n")) == 1
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.String() != "" {
		t.Errorf("%v: %s", err, &stderr)
	}
	if !strings.Contains(stdout.String(), "only 1 of 7 questions were asked") || !strings.Contains(stdout.String(), "all      1   100.0 %") {
		t.Errorf("%s", &stdout)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEvalWrongSuites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file, text, want string
	}{
		"no suite":       {"suite.json", "", "is no suite: there is no suite.json in it"},
		"not JSON":       {"suite.json", "{", "suite.json: unexpected end"},
		"no questions":   {"walks/questions.jsonl", "\n", "has no questions"},
		"no answer":      {"walks/questions.jsonl", "\n" + `{"id":"x","question":"?"}`, "questions.jsonl: line 2: a question needs an answer"},
		"same id":        {"walks/questions.jsonl", `{"id":"b-1","question":"?","answer":[[1]]}`, `the id "b-1" is in beds and again in walks`},
		"no tables":      {"walks/tables/walks.csv", "", "namespace walks has no tables"},
		"odd table name": {"walks/tables/long walks.csv", "a\n1\n", `the name of the table "long walks" of walks`},
		"unreadable":     {"walks/tables/walks.csv", "a,b\n1\n2,3,4\n\"", "load walks/walks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite := filepath.Join(t.TempDir(), "garden")
			if err := os.CopyFS(suite, os.DirFS(garden(t))); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(suite, filepath.FromSlash(test.file))
			var err error
			if test.text == "" {
				err = os.Remove(file)
			} else {
				err = os.WriteFile(file, []byte(test.text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := e2etest.RunCommand(t, t.TempDir(), nil, "eval", suite)
			if got.Code != e2etest.ExitFailed || got.Stdout != "" || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("no %q in %+v", test.want, got)
			}
		})
	}
}
