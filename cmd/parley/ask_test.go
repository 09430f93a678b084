package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode"

	"parley/internal/golden"
)

// talk is the program, to talk to a server as a user.
func (c client) talk(args ...string) *exec.Cmd {
	c.t.Helper()
	return command(c.t, c.dir, []string{"PARLEY_SERVER=" + c.url, "PARLEY_TOKEN=" + c.token}, args...)
}

// typed runs the program to its end, with something on standard input.
func typed(t testing.TB, cmd *exec.Cmd, stdin string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	if cmd.ProcessState == nil {
		t.Fatalf("%q does not start", cmd.Args)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// askLines are what the model of the tests has to say.
var askLines = []modelLine{
	queries("How heavy", "", "SELECT avg(weight) FROM orders"),
	plans("Who buys", "Find the customer, then the city.", "Find who ordered most often", "Find that customer's cities"),
	queries("that customer's cities", "", "SELECT DISTINCT city FROM orders WHERE customer = 'Ada'"),
	queries("ordered most often", "", "SELECT customer, count(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC LIMIT 1"),
	answers("Who buys", "**Ada**, in Berlin. [step 1] [step 2]"),
	queries("List them", "", "SELECT * FROM orders ORDER BY id"),
	queries("Nothing", "", "SELECT * FROM orders WHERE id > 9"),
	queries("passwords", "", "SELECT * FROM read_csv('/etc/passwd')"),
	{job: queryJob, words: "weather", says: toJSON(map[string]any{"reasoning": "", "unanswerable": "No dataset tells of the weather.", "sql": "", "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0})},
	plans("how heavy", "Two figures.", "Find who ordered most often", "How heavy are they?"),
}

// TestGoldenAsk shows what is printed, and where.
func TestGoldenAsk(t *testing.T) {
	t.Parallel()
	s := serveShop(t, newModel(t, askLines...).env())
	c := client{s.process, s.alice}
	for name, test := range map[string]struct {
		args  []string
		stdin string
	}{
		"assistant":    {args: []string{"Who", "buys", "most, and where?"}},
		"nl2ql":        {args: []string{"--agent", "nl2ql", "List them"}},
		"no-rows":      {args: []string{"--agent", "nl2ql", "Nothing"}},
		"refused":      {args: []string{"--agent", "nl2ql", "Read the passwords"}},
		"unanswerable": {args: []string{"--agent", "nl2ql", "What is the weather?"}},
		"failing-step": {args: []string{"How many, and how heavy?"}},
		"stdin":        {args: []string{"--namespace", "shop", "--agent", "nl2ql"}, stdin: "List them\n"},
		"dash":         {args: []string{"--namespace", "shop", "--agent", "nl2ql", "-"}, stdin: "Nothing\n"},
		"json":         {args: []string{"--json", "Who buys most, and where?"}},
		"json-nl2ql":   {args: []string{"--json", "--agent", "nl2ql", "List them"}},
		"json-failed":  {args: []string{"--json", "How many, and how heavy?"}},
		"json-refused": {args: []string{"--json", "--namespace", "nowhere", "Who buys?"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := typed(t, c.talk(append([]string{"ask"}, test.args...)...), test.stdin)
			text := fmt.Sprintf("%q\nexit code %d\n--- stdout\n%s--- stderr\n%s", test.args, got.code, got.stdout, got.stderr)
			golden.Assert(t, "ask/"+name+".txt", golden.Scrub([]byte(text)))
		})
	}
}

// TestAskSaysWhatToDo has everything go wrong that can before a question is
// asked.
func TestAskSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := shop(t)
	bob := c.process.token("bob")
	alice := client{c.process, c.token}
	alice.newDataset("other", "things")
	server := "PARLEY_SERVER=" + c.url
	for name, test := range map[string]struct {
		env  []string
		args []string
		code int
		want []string
	}{
		"no token":           {[]string{server}, []string{"ask", "x"}, exitNotSignedIn, []string{"no token", "parley token USER", "PARLEY_TOKEN"}},
		"a wrong token":      {[]string{server, "PARLEY_TOKEN=x.y.z"}, []string{"ask", "--namespace", "shop", "x"}, exitNotSignedIn, []string{"401", "parley token USER"}},
		"no server":          {[]string{"PARLEY_SERVER=http://127.0.0.1:1", "PARLEY_TOKEN=x"}, []string{"ask", "--namespace", "shop", "x"}, exitUnavailable, []string{"127.0.0.1:1", "parley serve", "PARLEY_SERVER"}},
		"no such namespace":  {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"ask", "--namespace", "nowhere", "x"}, exitNotFound, []string{"nowhere", "alice/other, alice/shop"}},
		"several namespaces": {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"ask", "x"}, exitUsage, []string{"--namespace (PARLEY_NAMESPACE) must be one of alice/other, alice/shop"}},
		"no namespace":       {[]string{server, "PARLEY_TOKEN=" + bob}, []string{"ask", "x"}, exitNotFound, []string{"parley ingest"}},
		"nothing":            {[]string{server, "PARLEY_TOKEN=" + c.token, "PARLEY_NAMESPACE=shop"}, []string{"ask"}, exitUsage, []string{"QUESTION is empty"}},
		"a secret address":   {[]string{"PARLEY_SERVER=http://me:hunter2@x"}, []string{"ask", "x"}, exitUsage, []string{"--server (PARLEY_SERVER)"}},
		"an unknown agent":   {nil, []string{"ask", "--agent", "spy", "x"}, exitUsage, []string{"--agent"}},
		"a wrong context":    {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"ask", "--namespace", "shop", "--context", "x", "y"}, exitUsage, []string{"--context must be"}},
		"an unknown task":    {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"tasks", "0197f2ac-0000-7000-8000-000000000000"}, exitNotFound, []string{"parley tasks"}},
		"an unknown run":     {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"cancel", "x"}, exitNotFound, []string{"cancel x", "parley tasks"}},
		"too many tasks":     {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"tasks", "--limit", "1001"}, exitUsage, []string{"--limit"}},
		"no answer":          {[]string{server, "PARLEY_TOKEN=" + c.token}, []string{"ask", "--namespace", "shop", "What is the weather on Mars?"}, exitNoAnswer, []string{"in other words"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, t.TempDir(), test.env, test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("no %q in\n%s", want, got.stderr)
				}
			}
			if strings.Contains(got.stderr, "hunter2") {
				t.Errorf("a password is shown:\n%s", got.stderr)
			}
		})
	}
}

// TestAskHarmless has rows, names and answers that would drive a terminal.
func TestAskHarmless(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"
	s := serveShop(t, newModel(t,
		plans("Show", evil, "Show "+evil, "Show more"), queries("Show", evil, "SELECT item AS \"a\x1b[2J\", item FROM notes -- "+evil), answers("Show", "# "+evil+"\n"+evil),
	).env())
	c := client{s.process, s.alice}
	if status := c.ask("POST", "/ingest/evil/notes", object{"data": []object{{"item": evil}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	for _, args := range [][]string{{}, {"--agent", "nl2ql"}, {"--json"}} {
		got := typed(t, c.talk(append([]string{"ask", "--namespace", "evil", "Show " + evil}, args...)...), "")
		printed := got.stdout + got.stderr
		if got.code != exitOK || !strings.Contains(printed, "owned") {
			t.Errorf("%q: %+v", args, got)
		}
		if i := strings.IndexFunc(printed, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); i >= 0 {
			t.Errorf("%q prints %q", args, printed[i:min(len(printed), i+20)])
		}
	}
	for _, args := range [][]string{{"tasks"}, {"tasks", "--json"}} {
		if got := typed(t, c.talk(args...), ""); got.code != exitOK || !strings.Contains(got.stdout, "owned") || strings.ContainsAny(got.stdout, "\x1b\a\u009b\u202e") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestAskInterrupted has a user press Ctrl-C.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	s := serveShop(t, newModel(t,
		plans("How many", "One count will do.", "Count the orders"),
		modelLine{job: queryJob, words: "Count the orders", hang: true},
	).env())
	c := client{s.process, s.alice}
	for _, args := range [][]string{{"ask", "How many?"}, {"ask", "--json", "--agent", "nl2ql", "Count the orders"}} {
		cmd := c.talk(args...)
		stdout, stderr := &syncBuffer{}, &syncBuffer{}
		cmd.Stdout, cmd.Stderr = stdout, stderr
		before := len(c.tasks())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(c.tasks()) > before })
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted: the run is canceled") {
			t.Errorf("%q: exit code %d\n%s", args, code, stderr)
		}
		if task := c.tasks()[0]; task.State != "canceled" {
			t.Errorf("%q: %+v", args, task)
		}
		if args[1] == "--json" && !strings.Contains(stdout.String(), `"state":"canceled"`) {
			t.Errorf("JSON: %s", stdout)
		}
	}
}

// tasks lists a user's tasks with the program.
func (c client) tasks(args ...string) []taskReport {
	c.t.Helper()
	got := typed(c.t, c.talk(append([]string{"tasks", "--json"}, args...)...), "")
	var list []taskReport
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || got.code != exitOK {
		c.t.Fatalf("tasks: %+v", got)
	}
	return list
}

// relay is an address behind which servers come and go.
type relay struct {
	net.Listener
	target atomic.Value
}

func newRelay(t *testing.T) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	r := &relay{Listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go r.carry(conn)
		}
	}()
	return r
}

func (r *relay) carry(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	server, err := net.Dial("tcp", r.target.Load().(string))
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() { _, _ = io.Copy(server, conn) }()
	_, _ = io.Copy(conn, server)
}

// to has the relay lead to a server.
func (r *relay) to(p *process) { r.target.Store(strings.TrimPrefix(p.url, "http://")) }

// TestAskOfServerThatDies has the server killed while it answers, and started
// again: what is printed is as if nothing had happened.
func TestAskOfServerThatDies(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{"while it plans": "Who buys", "in the first step": "ordered most often", "in the second step": "that customer's cities"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := newModel(t, askLines...)
			fluent := model.answer
			reached, mute := make(chan struct{}, 1), atomic.Bool{}
			model.does(func(w http.ResponseWriter, r *http.Request, q prompt) {
				if mute.Load() && q.job != answerJob && strings.Contains(q.text, words) {
					select {
					case reached <- struct{}{}:
					default:
					}
					<-r.Context().Done()
					return
				}
				fluent(w, r, q)
			})
			s := serveShop(t, model.env())
			const question = "Who buys most, and where?"
			want := typed(t, client{s.process, s.alice}.talk("ask", question), "")

			mute.Store(true)
			relay := newRelay(t)
			relay.to(s.process)
			cmd := client{s.process, s.alice}.talk("ask", "--server", "http://"+relay.Addr().String(), question)
			stdout, stderr := &syncBuffer{}, &syncBuffer{}
			cmd.Stdout, cmd.Stderr = stdout, stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-reached
			s.signal(syscall.SIGKILL)
			s.wait()
			mute.Store(false)
			relay.to(serve(t, s.dir, s.env))
			_ = cmd.Wait()
			if got := (result{cmd.ProcessState.ExitCode(), stdout.String(), withoutIDs(stderr.String())}); got.code != exitOK ||
				got.stdout != want.stdout || got.stderr != withoutIDs(want.stderr) {
				t.Errorf("got %+v\nwant %+v", got, want)
			}
			if told := strings.Count(stderr.String(), "reconnecting"); told != 1 {
				t.Errorf("it was told %d times", told)
			}
		})
	}
}

var ownLines = regexp.MustCompile(`(?m)^(reconnecting|task ).*\n`)

// withoutIDs leaves out the lines that differ from run to run.
func withoutIDs(text string) string { return ownLines.ReplaceAllString(text, "") }

// TestTasks lists, shows and cancels.
func TestTasks(t *testing.T) {
	t.Parallel()
	s := serveShop(t, newModel(t, append(askLines, modelLine{job: planJob, words: "for ever", hang: true}, modelLine{job: queryJob, words: "for ever", hang: true})...).env())
	c := client{s.process, s.alice}
	if got := typed(t, c.talk("tasks"), ""); got.code != exitOK || got.stdout != "" || !strings.Contains(got.stderr, "nothing") {
		t.Errorf("no tasks: %+v", got)
	}
	first := typed(t, c.talk("ask", "Who buys most, and where?"), "")
	typed(t, c.talk("ask", "--agent", "nl2ql", "--namespace", "shop", "List them"), "")
	list := c.tasks()
	if len(list) != 2 || list[0].Agent != "nl2ql" || list[0].Namespace != "shop" || list[1].Question != "Who buys most, and where?" || list[1].State != "completed" || list[1].Namespace != "alice/shop" {
		t.Fatalf("tasks: %+v", list)
	}
	if got := c.tasks("--agent", "assistant"); len(got) != 1 || got[0] != list[1] {
		t.Errorf("one agent's: %+v", got)
	}
	if got := c.tasks("--limit", "1"); len(got) != 1 || got[0] != list[0] {
		t.Errorf("the last: %+v", got)
	}
	shown := typed(t, c.talk("tasks", list[1].TaskID), "")
	if shown.code != exitOK || !strings.Contains(shown.stdout, strings.TrimSpace(first.stdout)) || !strings.Contains(shown.stdout, "2. Find that customer's cities") {
		t.Errorf("a task: %+v", shown)
	}
	if table := typed(t, c.talk("tasks"), "").stdout; strings.Count(table, "\n") != 4 || !strings.Contains(table, list[0].TaskID) {
		t.Errorf("table:\n%s", table)
	}
	var running []string
	for _, agent := range []string{"assistant", "nl2ql"} {
		body := strings.Replace(a2aBody("SendMessage", "Wait for ever", ""), `"params":{`, `"params":{"configuration":{"returnImmediately":true},`, 1)
		_, text := s.post(s.alice, "/api/v1/a2a/"+agent, body)
		running = append(running, field(text, "id"))
	}
	if got := typed(t, c.talk(append([]string{"cancel"}, running...)...), ""); got.code != exitOK || strings.Count(got.stdout, "canceled") != 2 {
		t.Errorf("cancel: %+v", got)
	}
	for _, id := range running {
		if got := typed(t, c.talk("tasks", "--json", id), ""); !strings.Contains(got.stdout, `"state":"canceled"`) {
			t.Errorf("canceled: %+v", got)
		}
	}
	if got := typed(t, c.talk("cancel", running[0], "x", running[1]), ""); got.code == exitOK || strings.Count(got.stderr, "cancel ") != 3 {
		t.Errorf("cancel again: %+v", got)
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 47 * time.Hour: "47h", 49 * time.Hour: "2d"} {
		if got := age(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}
