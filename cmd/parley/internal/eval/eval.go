// Package eval is `parley eval`: it loads a suite into a server, asks its questions and
// reports how many answers are right. Suites and scores are in llm/eval.
package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"parley/cards"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/cmd/parley/internal/serve"
	"parley/llm/eval"
)

// Command is `parley eval SUITE`.
type Command struct {
	Suite         string  `arg:"" help:"The suite's folder: suite.json, and a folder for each namespace with tables/*.csv and questions.jsonl."`
	Agent         string  `env:"-" default:"nl2ql" placeholder:"NAME" help:"The agent: nl2ql, or assistant, whose last step counts (${default})."`
	Server        string  `placeholder:"URL" help:"A running server to use, instead of a temporary one."`
	Token         string  `placeholder:"TEXT" help:"A token for that server. The tables go to namespaces of its user. Prefer the variable."`
	MinConfidence float64 `env:"-" type:"confidence" default:"0.4" placeholder:"NUMBER" help:"The least confidence of an answer, from 0 to 1 (${default}). With 0, all questions that can be read are answered."`
	Out           string  `env:"-" placeholder:"FILE" help:"Write the result of each question to this file, as lines of JSON."`
	Limit         int     `env:"-" min:"0" default:"0" placeholder:"N" help:"Ask only the first N questions (all)."`
	Parallel      int     `env:"-" min:"0" default:"0" placeholder:"N" help:"How many questions to ask at once (number of processors)."`
	Failures      int     `env:"-" min:"0" default:"5" placeholder:"N" help:"How many wrong answers to print (${default})."`
	Pairs         string  `env:"-" placeholder:"LIST" help:"Also count questions with two tags: tag+tag, separated by commas."`
	serve.ModelSettings
}

// check adds the problems with the settings, and returns the pairs.
func (e *Command) check(c *command.Checker) (pairs []string) {
	if agents := []string{cards.NL2QLName, cards.AssistantName}; !slices.Contains(agents, e.Agent) {
		c.Refuse("agent", "must be one of %s, not %q", strings.Join(agents, ", "), e.Agent)
	}
	c.PublicURL("server", e.Server)
	if (e.Server == "") != (e.Token == "") {
		c.Refuse("token", "goes with --server: give both, or neither")
	}
	for pair := range strings.SplitSeq(e.Pairs, ",") {
		if pair == "" {
			continue
		}
		a, b, ok := strings.Cut(strings.TrimSpace(pair), "+") // tags may have blanks
		if !ok {
			c.Refuse("pairs", "must be pairs such as join+hard, not %q", pair)
		}
		pairs = append(pairs, min(a, b)+"+"+max(a, b))
	}
	e.ModelSettings.Check(c)
	return pairs
}

// Run measures a suite. An interruption ends it early, with the results so far.
func (e *Command) Run(ctx context.Context, env command.Env) (err error) {
	c := env.NewChecker()
	pairs := e.check(c)
	if err := c.Err(); err != nil {
		return err
	}
	suite, err := eval.Load(e.Suite)
	if err != nil {
		return err
	}
	if e.Limit > 0 {
		suite.Limit(e.Limit)
	}
	parallel := cmp.Or(e.Parallel, runtime.GOMAXPROCS(0))
	results := io.Discard
	if e.Out != "" {
		file, openErr := os.Create(e.Out)
		if openErr != nil {
			return fmt.Errorf("write results: %w", openErr)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		results = file
	}
	server, token := e.Server, e.Token
	if server == "" {
		own, startErr := startScratch(ctx, env, e.ModelSettings, parallel)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, own.close()) }()
		server, token = own.URL, own.token
	}
	m := measurement{
		pairs: pairs, parallel: parallel, suite: suite, results: results, env: env, report: eval.Report{Failures: e.Failures},
		client: &client{apiclient.New(server, token, loadsAtOnce*parallel), e.Agent, &e.MinConfidence},
	}
	return m.run(ctx)
}

// loadsAtOnce is how many tables are loaded at once for each parallel question: mostly a
// table waits for the ingestion of others.
const loadsAtOnce = 4

// measurement is a suite being measured.
type measurement struct {
	pairs    []string
	parallel int
	suite    *eval.Suite
	client   *client
	results  io.Writer
	report   eval.Report
	env      command.Env
}

func (m *measurement) run(ctx context.Context) error {
	show := console.NewProgress(m.env.Stderr)
	defer show.Clear()
	questions, tables := m.suite.Count()
	start := time.Now()
	err := m.client.load(ctx, m.suite, loadsAtOnce*m.parallel, func(done, of int) {
		show.Printf("loading table %d of %d", done, of)
	})
	loading := time.Since(start)
	switch {
	case ctx.Err() != nil:
		show.Clear()
		fmt.Fprintln(m.env.Stdout, "Interrupted before the first question was asked.")
		return nil
	case err != nil:
		return err
	}
	start = time.Now()
	var writing error
	err = eval.Run(ctx, m.client.ask, m.suite, m.parallel, func(o eval.Outcome) {
		m.report.Add(o)
		if writing == nil {
			writing = eval.WriteResult(m.results, o)
		}
		all := m.report.Score.All
		show.Printf("asked %d of %d questions, %.1f %% right", all.Asked, questions, 100*all.Accuracy())
	})
	asking := time.Since(start)
	show.Clear()
	asked := m.report.Score.All.Asked
	fmt.Fprintf(m.env.Stdout, "%s: %d questions about %d tables in %d namespaces, asked of %s\n", m.suite.Name, questions, tables, len(m.suite.Namespaces), m.client.agent)
	fmt.Fprintf(m.env.Stdout, "loaded in %.1f s, asked in %.1f s\n", loading.Seconds(), asking.Seconds())
	if asked < questions {
		fmt.Fprintf(m.env.Stdout, "only %d of %d questions were asked\n", asked, questions)
	}
	fmt.Fprintln(m.env.Stdout)
	if ctx.Err() != nil {
		err = nil // the results so far are the answer
	}
	if writing != nil {
		writing = fmt.Errorf("write results: %w", writing)
	}
	return errors.Join(err, writing, m.report.Print(m.env.Stdout, m.pairs...))
}
