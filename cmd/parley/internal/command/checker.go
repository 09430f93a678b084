package command

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/alecthomas/kong"

	"parley/internal/domain"
)

// UsageError lists every problem with the settings and arguments of a command.
type UsageError []string

func (e UsageError) Error() string {
	return "wrong settings:\n  " + strings.Join(e, "\n  ")
}

// Checker collects the problems with settings and arguments, to report all of them at
// once. Its methods take the name of a flag without dashes.
type Checker struct {
	problems UsageError
	model    *kong.Application
}

// Refuse adds a problem with a flag.
func (c *Checker) Refuse(flag, format string, args ...any) {
	name := "--" + flag
	for _, node := range nodes(c.model) {
		for _, f := range node.Flags {
			if f.Name == flag && len(f.Envs) > 0 && !strings.HasSuffix(name, ")") {
				name = flagText(f)
			}
		}
	}
	c.Add(name + " " + fmt.Sprintf(format, args...))
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

// Grantee checks the argument USER, which can also be a group.
func (c *Checker) Grantee(name string) {
	if problem := domain.CheckGrantee(domain.NormalizeUsername(name)); problem != "" {
		c.Add("USER " + problem)
	}
}
