package command

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"parley/internal/domain"
)

// UsageError lists every problem with the settings and arguments of a command.
type UsageError []string

func (e UsageError) Error() string {
	return "wrong settings:\n  " + strings.Join(e, "\n  ")
}

// Checker parses settings from text and collects the problems, to report all of them at
// once. Its methods take the name of a flag without dashes.
type Checker struct {
	problems UsageError
	model    *kong.Application
}

// NewChecker returns a checker of the flags of a command line.
func NewChecker(model *kong.Application) *Checker { return &Checker{model: model} }

// Refuse adds a problem with a flag.
func (c *Checker) Refuse(flag, format string, args ...any) {
	c.Add(fmt.Sprintf("--%s%s %s", flag, variableOf(c.model, flag), fmt.Sprintf(format, args...)))
}

// Add adds a problem.
func (c *Checker) Add(problem string) { c.problems = append(c.problems, problem) }

// Err is a UsageError with all problems, nil where there are none.
func (c *Checker) Err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

// NotEmpty refuses an argument without text, such as that of an unset variable.
func (c *Checker) NotEmpty(name, text string) {
	if text == "" {
		c.Add(name + " is empty")
	}
}

// Duration parses a positive duration.
func (c *Checker) Duration(flag, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		c.Refuse(flag, "must be a duration such as 30s or 24h, not %q", text)
	}
	return d
}

// DurationOrZero parses a duration.
func (c *Checker) DurationOrZero(flag, text string) time.Duration {
	if text == "0" || text == "0s" {
		return 0
	}
	return c.Duration(flag, text)
}

// Bytes parses a positive number of bytes.
func (c *Checker) Bytes(flag, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		c.Refuse(flag, "must be a number of bytes, not %q", text)
	}
	return n
}

// Count parses a number from 1 on.
func (c *Checker) Count(flag, text string) int { return c.number(flag, text, 1) }

// CountOrZero parses a number from 0 on.
func (c *Checker) CountOrZero(flag, text string) int { return c.number(flag, text, 0) }

func (c *Checker) number(flag, text string, least int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		c.Refuse(flag, "must be a number from %d on, not %q", least, text)
	}
	return n
}

// Confidence parses the least confidence of an answer.
func (c *Checker) Confidence(flag, text string) *float64 {
	least, err := strconv.ParseFloat(text, 64)
	if err != nil || domain.CheckConfidence(least) != "" {
		c.Refuse(flag, "must be a number from 0 to 1, not %q", text)
	}
	return &least
}

// URL parses an absolute http or https URL; nil for none.
func (c *Checker) URL(flag, text string) *url.URL {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		c.Refuse(flag, "must be an http or https address, not %q", text)
		return nil
	}
	return u
}

// PublicURL checks a URL, or none, that may be logged.
func (c *Checker) PublicURL(flag, text string) {
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil, u.User != nil, u.RawQuery != "", u.Fragment != "":
		// The text may hold a password: it is not repeated.
		c.Refuse(flag, "must be an http or https address without a password or anything behind its path")
	default:
		c.URL(flag, text)
	}
}

// Username checks the argument USER.
func (c *Checker) Username(name string) {
	if problem := domain.CheckUsername(domain.NormalizeUsername(name)); problem != "" {
		c.Add("USER " + problem)
	}
}

// Bool parses a toggle.
func (c *Checker) Bool(flag string, t Toggle) bool {
	if t == "" {
		return false
	}
	on, err := strconv.ParseBool(string(t))
	if err != nil {
		c.Refuse(flag, "must be true or false, not %q", string(t))
	}
	return on
}

// Toggle is a flag that needs no value.
type Toggle string

// IsBool implements kong.BoolMapperValue.
func (*Toggle) IsBool() bool { return true }

// Decode implements kong.MapperValue.
func (t *Toggle) Decode(ctx *kong.DecodeContext) error {
	*t = "true"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		*t = Toggle(ctx.Scan.Pop().String())
	}
	return nil
}
