package cli

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

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/logtest"
)

// talk is the program, to talk to a server as a user.
func talk(c e2etest.Client, args ...string) *exec.Cmd {
	c.T.Helper()
	return e2etest.Command(c.T, c.Dir, []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}, args...)
}

// typed runs the program to its end, with something on standard input.
func typed(t testing.TB, cmd *exec.Cmd, stdin string) e2etest.Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	_ = cmd.Run() // the exit code tells
	if cmd.ProcessState == nil {
		t.Fatalf("%q does not start", cmd.Args)
	}
	return e2etest.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// askLines are what the model of the tests has to say.
var askLines = []e2etest.ModelLine{
	e2etest.Queries("How heavy", "", "SELECT avg(weight) FROM orders"),
	e2etest.Plans("Who buys", "Find the customer, then the city.", "Find who ordered most often", "Find that customer's cities"),
	e2etest.Queries("that customer's cities", "Read as: the different cities of Ada.", "SELECT DISTINCT city FROM orders WHERE customer = 'Ada'"),
	e2etest.Queries("ordered most often", "", "SELECT customer, count(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC LIMIT 1"),
	e2etest.Answers("Who buys", "**Ada**, in Berlin. [step 1] [step 2]"),
	e2etest.Queries("List them", "Read as: the orders, by id.", "SELECT * FROM orders ORDER BY id"),
	e2etest.Queries("Nothing", "", "SELECT * FROM orders WHERE id > 9"),
	e2etest.Queries("passwords", "", "SELECT * FROM read_csv('/etc/passwd')"),
	{Job: e2etest.QueryJob, Words: "weather", Says: e2etest.ToJSON(map[string]any{"reasoning": "", "unanswerable": "No dataset tells of the weather.", "sql": "", "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0})},
	e2etest.Plans("weather", "One query answers it.", "What is the weather?"),
	e2etest.Plans("how heavy", "Two figures.", "Find who ordered most often", "How heavy are they?"),
}

// TestGoldenAsk shows what is printed, and where.
func TestGoldenAsk(t *testing.T) {
	t.Parallel()
	c := e2etest.ServeShop(t, e2etest.NewModel(t, askLines...).Env())
	for name, test := range map[string]struct {
		args  []string
		stdin string
	}{
		"assistant":    {args: []string{"Who", "buys", "most, and where?"}},
		"verbose":      {args: []string{"--verbose", "Who buys most, and where?"}},
		"nl2ql":        {args: []string{"--agent", "nl2ql", "-v", "List them"}},
		"no-rows":      {args: []string{"--agent", "nl2ql", "Nothing"}},
		"refused":      {args: []string{"--agent", "nl2ql", "Read the passwords"}},
		"unanswerable": {args: []string{"--agent", "nl2ql", "What is the weather?"}},
		"no-plan":      {args: []string{"What is the weather?"}},
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
			got := typed(t, talk(c, append([]string{"ask"}, test.args...)...), test.stdin)
			text := fmt.Sprintf("%q\nexit code %d\n--- stdout\n%s--- stderr\n%s", test.args, got.Code, got.Stdout, got.Stderr)
			golden.Assert(t, "ask/"+name+".txt", golden.Scrub([]byte(text)))
		})
	}
}

// TestAskSaysWhatToDo has everything go wrong that can before a question is
// asked.
func TestAskSaysWhatToDo(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	bob := c.Process.Token("bob")
	alice := c
	alice.NewDataset("other", "things")
	server := "PARLEY_SERVER=" + c.URL
	for name, test := range map[string]struct {
		env  []string
		args []string
		code int
		want []string
	}{
		"no token":           {[]string{server}, []string{"ask", "x"}, e2etest.ExitNotSignedIn, []string{"no token", "parley token USER", "PARLEY_TOKEN"}},
		"a wrong token":      {[]string{server, "PARLEY_TOKEN=x.y.z"}, []string{"ask", "--namespace", "shop", "x"}, e2etest.ExitNotSignedIn, []string{"401", "parley token USER"}},
		"no server":          {[]string{"PARLEY_SERVER=http://127.0.0.1:1", "PARLEY_TOKEN=x"}, []string{"ask", "--namespace", "shop", "x"}, e2etest.ExitUnavailable, []string{"127.0.0.1:1", "parley serve", "PARLEY_SERVER"}},
		"the wrong scheme":   {[]string{"PARLEY_SERVER=" + strings.Replace(c.URL, "http:", "https:", 1), "PARLEY_TOKEN=x"}, []string{"ask", "--namespace", "shop", "x"}, e2etest.ExitUnavailable, []string{"https://", "PARLEY_SERVER"}},
		"no such namespace":  {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"ask", "--namespace", "nowhere", "x"}, e2etest.ExitNotFound, []string{"nowhere", "alice/other, alice/shop"}},
		"several namespaces": {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"ask", "x"}, e2etest.ExitUsage, []string{"--namespace (PARLEY_NAMESPACE) must be one of alice/other, alice/shop"}},
		"another namespace":  {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"ask", "How many orders are there in nowhere?"}, e2etest.ExitUsage, []string{"must be one of alice/other, alice/shop"}},
		"no namespace":       {[]string{server, "PARLEY_TOKEN=" + bob}, []string{"ask", "x"}, e2etest.ExitNotFound, []string{"parley ingest"}},
		"nothing":            {[]string{server, "PARLEY_TOKEN=" + c.Token, "PARLEY_NAMESPACE=shop"}, []string{"ask"}, e2etest.ExitUsage, []string{"QUESTION is empty"}},
		"a secret address":   {[]string{"PARLEY_SERVER=http://me:hunter2@x"}, []string{"ask", "x"}, e2etest.ExitUsage, []string{"--server (PARLEY_SERVER)"}},
		"an unknown agent":   {nil, []string{"ask", "--agent", "spy", "x"}, e2etest.ExitUsage, []string{"--agent"}},
		"a wrong context":    {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"ask", "--namespace", "shop", "--context", "x", "y"}, e2etest.ExitUsage, []string{"--context must be"}},
		"an unknown task":    {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"tasks", "0197f2ac-0000-7000-8000-000000000000"}, e2etest.ExitNotFound, []string{"parley tasks"}},
		"an unknown run":     {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"cancel", "x"}, e2etest.ExitNotFound, []string{"cancel x", "parley tasks"}},
		"too many tasks":     {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"tasks", "--limit", "1001"}, e2etest.ExitUsage, []string{"--limit"}},
		"no answer":          {[]string{server, "PARLEY_TOKEN=" + c.Token}, []string{"ask", "--namespace", "shop", "What is the weather on Mars?"}, e2etest.ExitNoAnswer, []string{"in other words"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := e2etest.RunCommand(t, t.TempDir(), test.env, test.args...)
			if got.Code != test.code {
				t.Errorf("exit code %d, want %d", got.Code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("no %q in\n%s", want, got.Stderr)
				}
			}
			if strings.Contains(got.Stderr, "hunter2") {
				t.Errorf("a password is shown:\n%s", got.Stderr)
			}
		})
	}
}

// A question from standard input names its namespace as an argument does.
func TestAskNamesItsNamespace(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	c.NewDataset("other", "things")
	const text = "How many orders are there in shop?"
	for _, args := range [][]string{{"ask", text}, {"ask"}, {"ask", "-"}} {
		cmd := e2etest.Command(t, t.TempDir(), []string{"PARLEY_SERVER=" + c.URL, "PARLEY_TOKEN=" + c.Token}, args...)
		if got := typed(t, cmd, text); got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "3") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestAskHarmless has rows, names and answers that would drive a terminal.
func TestAskHarmless(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"
	c := e2etest.ServeShop(t, e2etest.NewModel(t,
		e2etest.Plans("Show", evil, "Show "+evil, "Show more"), e2etest.Queries("Show", evil, "SELECT item AS \"a\x1b[2J\", item FROM notes -- "+evil), e2etest.Answers("Show", "# "+evil+"\n"+evil),
	).Env())
	if status := c.Ask("POST", "/ingest/evil/notes", e2etest.Object{"data": []e2etest.Object{{"item": evil}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	for _, args := range [][]string{{}, {"--agent", "nl2ql"}, {"--json"}} {
		got := typed(t, talk(c, append([]string{"ask", "--namespace", "evil", "Show " + evil}, args...)...), "")
		printed := got.Stdout + got.Stderr
		if got.Code != e2etest.ExitOK || !strings.Contains(printed, "owned") {
			t.Errorf("%q: %+v", args, got)
		}
		if i := strings.IndexFunc(printed, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) }); i >= 0 {
			t.Errorf("%q prints %q", args, printed[i:min(len(printed), i+20)])
		}
	}
	for _, args := range [][]string{{"tasks"}, {"tasks", "--json"}} {
		if got := typed(t, talk(c, args...), ""); got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "owned") || strings.ContainsAny(got.Stdout, "\x1b\a\u009b\u202e") {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// TestAskInterrupted has a user press Ctrl-C.
func TestAskInterrupted(t *testing.T) {
	t.Parallel()
	c := e2etest.ServeShop(t, e2etest.NewModel(t,
		e2etest.Plans("How many", "One count will do.", "Count the orders"),
		e2etest.ModelLine{Job: e2etest.QueryJob, Words: "Count the orders", Hang: true},
	).Env())
	for _, args := range [][]string{{"ask", "How many?"}, {"ask", "--json", "--agent", "nl2ql", "Count the orders"}} {
		cmd := talk(c, args...)
		stdout, stderr := &logtest.Buffer{}, &logtest.Buffer{}
		cmd.Stdout, cmd.Stderr = stdout, stderr
		before := len(tasks(c))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		e2etest.Eventually(t, func() bool { return len(tasks(c)) > before })
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != e2etest.ExitInterrupted || !strings.Contains(stderr.String(), "interrupted: the run is canceled") {
			t.Errorf("%q: exit code %d\n%s", args, code, stderr)
		}
		if task := tasks(c)[0]; task.State != "canceled" {
			t.Errorf("%q: %+v", args, task)
		}
		if args[1] == "--json" && !strings.Contains(stdout.String(), `"state":"canceled"`) {
			t.Errorf("JSON: %s", stdout)
		}
	}
}

// taskReport is a task in a list.
type taskReport struct {
	TaskID, ContextID, State, Agent, Namespace, Question string
	UpdatedAt                                            time.Time
}

// tasks lists a user's tasks with the program.
func tasks(c e2etest.Client, args ...string) []taskReport {
	c.T.Helper()
	got := typed(c.T, talk(c, append([]string{"tasks", "--json"}, args...)...), "")
	var list []taskReport
	if err := json.Unmarshal([]byte(got.Stdout), &list); err != nil || got.Code != e2etest.ExitOK {
		c.T.Fatalf("tasks: %+v", got)
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
func (r *relay) to(p *e2etest.Process) { r.target.Store(strings.TrimPrefix(p.URL, "http://")) }

// TestAskOfServerThatDies has the server killed while it answers, and started
// again: what is printed is as if nothing had happened.
func TestAskOfServerThatDies(t *testing.T) {
	t.Parallel()
	for name, words := range map[string]string{"while it plans": "Who buys", "in the first step": "ordered most often", "in the second step": "that customer's cities"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := e2etest.NewModel(t, askLines...)
			fluent := model.Answer
			reached, mute := make(chan struct{}, 1), atomic.Bool{}
			model.Does(func(w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
				if mute.Load() && q.Job != e2etest.AnswerJob && strings.Contains(q.Text, words) {
					select {
					case reached <- struct{}{}:
					default:
					}
					<-r.Context().Done()
					return
				}
				fluent(w, r, q)
			})
			s := e2etest.ServeShop(t, model.Env())
			const question = "Who buys most, and where?"
			want := typed(t, talk(s, "ask", question), "")

			mute.Store(true)
			relay := newRelay(t)
			relay.to(s.Process)
			cmd := talk(s, "ask", "--server", "http://"+relay.Addr().String(), question)
			stdout, stderr := &logtest.Buffer{}, &logtest.Buffer{}
			cmd.Stdout, cmd.Stderr = stdout, stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-reached
			s.Signal(syscall.SIGKILL)
			s.Wait()
			mute.Store(false)
			relay.to(e2etest.Serve(t, s.Dir, s.Env))
			_ = cmd.Wait()
			if got := (e2etest.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: withoutIDs(stderr.String())}); got.Code != e2etest.ExitOK ||
				got.Stdout != want.Stdout || got.Stderr != withoutIDs(want.Stderr) {
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
	c := e2etest.ServeShop(t, e2etest.NewModel(t, append(askLines, e2etest.ModelLine{Job: e2etest.PlanJob, Words: "for ever", Hang: true}, e2etest.ModelLine{Job: e2etest.QueryJob, Words: "for ever", Hang: true})...).Env())
	if got := typed(t, talk(c, "tasks"), ""); got.Code != e2etest.ExitOK || got.Stdout != "" || !strings.Contains(got.Stderr, "nothing") {
		t.Errorf("no tasks: %+v", got)
	}
	first := typed(t, talk(c, "ask", "Who buys most, and where?"), "")
	typed(t, talk(c, "ask", "--agent", "nl2ql", "--namespace", "shop", "List them"), "")
	list := tasks(c)
	if len(list) != 2 || list[0].Agent != "nl2ql" || list[0].Namespace != "shop" || list[1].Question != "Who buys most, and where?" || list[1].State != "completed" || list[1].Namespace != "shop" {
		t.Fatalf("tasks: %+v", list)
	}
	if got := tasks(c, "--agent", "assistant"); len(got) != 1 || got[0] != list[1] {
		t.Errorf("one agent's: %+v", got)
	}
	if got := tasks(c, "--limit", "1"); len(got) != 1 || got[0] != list[0] {
		t.Errorf("the last: %+v", got)
	}
	shown := typed(t, talk(c, "tasks", list[1].TaskID), "")
	if shown.Code != e2etest.ExitOK || !strings.Contains(shown.Stdout, strings.TrimSpace(first.Stdout)) || !strings.Contains(shown.Stdout, "2. Find that customer's cities") {
		t.Errorf("a task: %+v", shown)
	}
	if table := typed(t, talk(c, "tasks"), "").Stdout; strings.Count(table, "\n") != 4 || !strings.Contains(table, list[0].TaskID) {
		t.Errorf("table:\n%s", table)
	}
	var running []string
	for _, agent := range []string{"assistant", "nl2ql"} {
		body := strings.Replace(e2etest.A2ABody("SendMessage", "Wait for ever", ""), `"params":{`, `"params":{"configuration":{"returnImmediately":true},`, 1)
		_, text := c.Post(c.Token, "/api/v1/a2a/"+agent, body)
		running = append(running, e2etest.Field(text, "id"))
	}
	if got := typed(t, talk(c, append([]string{"cancel"}, running...)...), ""); got.Code != e2etest.ExitOK || strings.Count(got.Stdout, "canceled") != 2 {
		t.Errorf("cancel: %+v", got)
	}
	for _, id := range running {
		if got := typed(t, talk(c, "tasks", "--json", id), ""); !strings.Contains(got.Stdout, `"state":"canceled"`) {
			t.Errorf("canceled: %+v", got)
		}
	}
	if got := typed(t, talk(c, "cancel", running[0], "x", running[1]), ""); got.Code == e2etest.ExitOK || strings.Count(got.Stderr, "cancel ") != 3 {
		t.Errorf("cancel again: %+v", got)
	}
}
