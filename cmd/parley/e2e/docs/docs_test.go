package docs

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/s3test"
)

// TestDocumentedCommands runs every block of commands that a document has, in
// the order in which they stand there, on a server with three orders.
func TestDocumentedCommands(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	for path, text := range documents(t) {
		var blocks []string
		for _, found := range fence.FindAllStringSubmatch(text, -1) {
			if found[1] == "sh" {
				blocks = append(blocks, found[2])
			}
		}
		if len(blocks) == 0 && len(documented[path]) == 0 {
			continue
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if len(blocks) != len(documented[path]) {
				t.Fatalf("%d blocks of commands, and documented lists %d", len(blocks), len(documented[path]))
			}
			r := newReader(t, path)
			for i, want := range documented[path] {
				r.follow(blocks[i], want)
			}
		})
	}
}

// reader does what a document says, in the folder of a server.
type reader struct {
	e2etest.Client
	env   []string
	words *strings.Replacer
}

func newReader(t *testing.T, path string) *reader {
	t.Helper()
	r := &reader{Client: e2etest.Shop(t)}
	if err := os.CopyFS(filepath.Join(r.Dir, "my-suite"), os.DirFS("../cli/testdata/eval/garden")); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"orders.csv": "item,city,price\nplum,Rome,4\n", "report.sql": "SELECT * FROM orders\n"} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.env = append(e2etest.Command(t, "", nil).Env, "PARLEY_LISTEN=127.0.0.1:0", "TMPDIR="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(),
		"BASE="+r.URL+"/api/v1", "TOKEN="+r.Token, "TASK="+r.Answered(),
		"PATH="+programs(t, path)+":"+os.Getenv("PATH")+":"+postgresPrograms())
	words := []string{"go run ./cmd/parley", "parley", "http://127.0.0.1:8080", r.URL, "https://parley.example.com", r.URL, "sk-…", e2etest.ProviderKey}
	switch path {
	case "README.md":
		url, token := demonstration(t)
		r.env = append(r.env, "PARLEY_SERVER="+url, "PARLEY_TOKEN="+token)
	case "docs/a2a.md": // its questions name their namespace
		r.NewDataset("other", "things")
	case "docs/cli.md":
		r.env = append(r.env, "PARLEY_SERVER="+r.URL, "PARLEY_TOKEN="+r.Token)
	case "docs/eval.md":
		r.env = append(r.env, e2etest.GardenModel(t).Address()...)
	case "docs/running.md":
		words = append(words, r.others()...)
	}
	r.words = strings.NewReplacer(words...)
	return r
}

// others starts what the document on running names, and gives its names for
// them with those that they have here.
func (r *reader) others() (words []string) {
	r.T.Helper()
	endpoint, access, secret := s3test.Server(r.T)
	r.env = append(r.env, "AWS_ACCESS_KEY_ID="+access, "AWS_SECRET_ACCESS_KEY="+secret)
	return []string{
		"https://id.example.com", "http://127.0.0.1:1",
		"postgres://parley:secret@db.example.com/parley", pgtest.URL(r.T),
		"postgres://parley:secret@db.example.com/restored", pgtest.URL(r.T),
		"s3://bucket/parley?endpoint=https://s3.example.com&region=eu-central-1",
		"s3://" + s3test.Bucket(r.T) + "/parley?endpoint=" + endpoint + "&region=" + s3test.Region + "&path_style=true",
	}
}

// demonstration starts a demo, and gives what it says to set.
func demonstration(t *testing.T) (url, token string) {
	t.Helper()
	cmd := e2etest.Command(t, t.TempDir(), []string{"TMPDIR=" + t.TempDir()}, "demo", "--listen", "127.0.0.1:0")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended it
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		setting, _ := strings.CutPrefix(strings.TrimSpace(lines.Text()), "export ")
		switch name, value, _ := strings.Cut(setting, "="); name {
		case "PARLEY_SERVER":
			url = value
		case "PARLEY_TOKEN":
			return url, value
		}
	}
	t.Fatal("the demo does not say what to set")
	return "", ""
}

// postgresPrograms names the folders that may have PostgreSQL's own programs.
func postgresPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is right
	return strings.Join(found, ":")
}

// programs makes a folder with the programs that documents run: this one, and
// a2a for those that use it.
func programs(t *testing.T, path string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(e2etest.Program(t), filepath.Join(dir, "parley")); err != nil {
		t.Fatal(err)
	}
	if path != "docs/a2a/go.md" {
		return dir
	}
	return dir + ":" + filepath.Dir(e2etest.A2ACommand(t))
}

// follow runs a block of commands and looks at what comes of it.
func (r *reader) follow(text string, want block) {
	r.T.Helper()
	if !strings.HasPrefix(text, want.begins) {
		r.T.Fatalf("this block should begin with %q:\n%s", want.begins, text)
	}
	if want.notRun != "" {
		return
	}
	shell := exec.CommandContext(r.T.Context(), "bash", "-euo", "pipefail", "-c", r.words.Replace(text))
	shell.Env, shell.Dir = r.env, r.Dir
	if want.serves {
		r.serves(shell, want)
		return
	}
	output, err := shell.CombinedOutput()
	lacks := func(want string) bool { return !strings.Contains(string(output), want) }
	if err != nil || slices.ContainsFunc(want.prints, lacks) {
		r.T.Errorf("%s\n%s\n%v, want %q", text, output, err, want.prints)
	}
}

// serves runs commands of which the last is a server, until it is ready.
func (r *reader) serves(shell *exec.Cmd, want block) {
	r.T.Helper()
	if want.elsewhere {
		shell.Dir = r.T.TempDir()
	}
	log := &logtest.Buffer{}
	shell.Stderr = log
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := shell.StdoutPipe()
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		r.T.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		url, ready := strings.CutPrefix(lines.Text(), "Parley is ready at ")
		if !ready {
			continue
		}
		if want.then != nil {
			want.then(e2etest.Client{Process: &e2etest.Process{T: r.T, URL: url, Dir: shell.Dir}, Token: r.Token})
		}
		if err := syscall.Kill(-shell.Process.Pid, syscall.SIGTERM); err != nil {
			r.T.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, stdout) // until it has ended
		_ = shell.Wait()
		return
	}
	r.T.Errorf("%s\nno server is ready:\n%s", want.begins, log)
}
