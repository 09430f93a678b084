package command_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/command"
)

type settings struct {
	Serve struct {
		On    bool
		Count int           `default:"3"`
		Zero  *int          `min:"0"`
		Size  int64         `default:"10"`
		Wait  time.Duration `default:"1s"`
		Pause time.Duration `min:"0" default:"0"`
		Keep  time.Duration `type:"age" default:"forever"`
		Level slog.Level    `default:"info"`
		Names []string      `type:"list"`
		Least float64       `type:"confidence" default:"0.4"`
	} `cmd:""`
	Other struct {
		Limit int `default:"1"`
	} `cmd:""`
}

// parse parses a command line. It returns the settings and their problems.
func parse(t *testing.T, args ...string) (cli settings, problems []string) {
	t.Helper()
	var flags command.Flags
	parser, err := kong.New(&cli, &flags, kong.DefaultEnvars("TESTED"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return cli, flags.Problems(parsed)
}

func TestFlags(t *testing.T) {
	t.Setenv("TESTED_COUNT", "5")
	got, problems := parse(t, "serve", "--on", "--zero=0", "--size", "7", "--wait=2m", "--pause=0s", "--keep=2d", "--level=warn", "--names=a, b,,c", "--least=1")
	s := got.Serve
	if len(problems) > 0 || !s.On || s.Count != 5 || *s.Zero != 0 || s.Size != 7 || s.Wait != 2*time.Minute || s.Pause != 0 || s.Keep != 48*time.Hour ||
		s.Level != slog.LevelWarn || !slices.Equal(s.Names, []string{"a", "b", "c"}) || s.Least != 1 {
		t.Errorf("got %+v, %q", s, problems)
	}
	if got, problems := parse(t, "serve", "--count=2", "--count=4"); got.Serve.Count != 4 || got.Serve.Zero != nil || len(problems) > 0 {
		t.Errorf("got %+v, %q", got.Serve, problems)
	}
}

// TestWrongFlags reports all problems of the chosen command, and those of the values that
// count: the command line's before those of variables.
func TestWrongFlags(t *testing.T) {
	_, problems := parse(t, "serve", "--on=perhaps", "--count=0", "--zero", "-1", "--size=1MB", "--wait=0", "--pause", "-1s", "--keep=1m", "--level=loud", "--least=2")
	want := []string{
		`--on (TESTED_ON) must be true or false, not "perhaps"`,
		`--count (TESTED_COUNT) must be a number from 1 on, not "0"`,
		`--zero (TESTED_ZERO) must be a number from 0 on, not "-1"`,
		`--size (TESTED_SIZE) must be a number of bytes, not "1MB"`,
		`--wait (TESTED_WAIT) must be a duration such as 30s or 24h, not "0"`,
		`--pause (TESTED_PAUSE) must be a duration such as 30s or 24h, not "-1s"`,
		`--keep (TESTED_KEEP) must be forever, or a duration such as 90d or 12h, an hour at least, not "1m"`,
		`--level (TESTED_LEVEL) must be debug, info, warn or error, not "loud"`,
		`--least (TESTED_LEAST) must be a number from 0 to 1, not "2"`,
	}
	if !slices.Equal(problems, want) {
		t.Errorf("got %q", problems)
	}
	t.Setenv("TESTED_COUNT", "many")
	t.Setenv("TESTED_LIMIT", "none")
	for _, test := range []struct {
		args []string
		want int
	}{{[]string{"serve"}, 1}, {[]string{"serve", "--count=2"}, 0}, {[]string{"serve", "--count=x"}, 1}, {[]string{"other"}, 1}, {[]string{"other", "--limit=2"}, 0}} {
		if _, problems := parse(t, test.args...); len(problems) != test.want {
			t.Errorf("%q: %q", test.args, problems)
		}
	}
}
