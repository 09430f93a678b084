package client

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// Tokens is `parley tokens`.
type Tokens struct {
	List   TokenList   `cmd:"" default:"withargs" help:"List your tokens."`
	Create TokenCreate `cmd:"" help:"Create a token and print it once."`
	Revoke TokenRevoke `cmd:"" help:"Revoke a token."`
}

// TokenList is `parley tokens list`.
type TokenList struct {
	outputSettings
	connectionSettings
}

// tokenEntry is a token in a list.
type tokenEntry struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Access    string     `json:"access"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	// RestrictedTo is nil for a token without restriction.
	RestrictedTo []tokenTarget `json:"accessRestrictedTo,omitzero"`
}

// only returns what the token is restricted to, as --only takes it.
func (t tokenEntry) only(user tokenUser) string {
	if t.RestrictedTo == nil {
		return console.None
	}
	targets := make([]string, len(t.RestrictedTo))
	for i, target := range t.RestrictedTo {
		targets[i] = target.only(user)
	}
	return cmp.Or(strings.Join(targets, ","), "(nothing that exists)")
}

// Run lists the caller's tokens.
func (t *TokenList) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	format := t.format()
	client, err := t.connect(c)
	if err != nil {
		return err
	}
	list := []tokenEntry{}
	if err := client.Call(ctx, http.MethodGet, "/user/tokens", nil, &list); err != nil {
		return fmt.Errorf("list tokens: %w", err)
	}
	if len(list) == 0 && format == console.FormatTable {
		fmt.Fprintln(env.Stderr, "You have no tokens. `parley tokens create NAME` makes one.")
		return nil
	}
	table := console.Table{Columns: []console.Column{{Name: "id", Whole: true}, {Name: "name"}, {Name: "access"}, {Name: "only"}, {Name: "created"}, {Name: "expires"}}}
	for _, token := range list {
		expires := console.None
		if token.ExpiresAt != nil {
			expires = token.ExpiresAt.Format(time.DateTime)
		}
		table.Rows = append(table.Rows, []string{token.ID, token.Name, token.Access, token.only(t.user()), token.CreatedAt.Format(time.DateTime), expires})
	}
	return writeList(env, format, list, table)
}

// TokenCreate is `parley tokens create NAME`.
type TokenCreate struct {
	Name  string        `arg:"" help:"What the token is for."`
	TTL   time.Duration `env:"-" name:"ttl" placeholder:"DURATION" help:"How long the token is valid, such as 720h. By default, 90 days."`
	Only  []string      `env:"-" sep:"none" placeholder:"NAMESPACE[/NAME]" help:"Restrict the token to a namespace or a dataset. Repeatable. Another user's is OWNER/NAMESPACE/ or OWNER/NAMESPACE/NAME."`
	Write bool          `env:"-" help:"Allow a restricted token to change data."`
	JSON  bool          `env:"-" name:"json" help:"Print JSON."`
	connectionSettings
}

// tokenTarget is what a token is restricted to.
type tokenTarget struct {
	Username  string `json:"username"`
	Namespace string `json:"namespace"`
	Dataset   string `json:"dataset,omitempty"`
}

// only returns the target as --only takes it, without its owner if that is the user.
func (t tokenTarget) only(user tokenUser) string {
	name := t.Namespace
	if t.Dataset != "" {
		name += "/" + t.Dataset
	}
	switch {
	case user.is(t.Username):
		return name
	case t.Dataset == "":
		name += "/"
	}
	return t.Username + "/" + name
}

// Run creates a token and prints it.
func (t *TokenCreate) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	body := map[string]any{"name": t.Name}
	if t.TTL != 0 {
		body["expires_at"] = time.Now().Add(t.TTL).UTC().Format(time.RFC3339)
	}
	var targets []tokenTarget
	for _, only := range t.Only {
		for each := range strings.SplitSeq(only, ",") {
			targets = append(targets, readTarget(c, each))
		}
	}
	if len(targets) > 0 {
		body["accessRestrictedTo"] = targets
	}
	if t.Write {
		body["access"] = "write"
		if len(targets) == 0 {
			c.Refuse("write", "is for a token with --only; without it, a token may do what you may")
		}
	}
	client, err := t.connect(c)
	if err != nil {
		return err
	}
	var token map[string]any
	if err := client.Call(ctx, http.MethodPost, "/user/token", body, &token); err != nil {
		return fmt.Errorf("create a token: %w", err)
	}
	if t.JSON {
		return writeJSON(env.Stdout, token)
	}
	_, err = fmt.Fprintln(env.Stdout, console.Line(fmt.Sprint(token["token"])))
	return err
}

// readTarget reads NAMESPACE, NAMESPACE/NAME or OWNER/NAMESPACE/NAME; a namespace of
// somebody else is OWNER/NAMESPACE/.
func readTarget(c *command.Checker, text string) tokenTarget {
	parts := strings.Split(text, "/")
	switch {
	case len(parts) == 1 && parts[0] != "":
		return tokenTarget{domain.Self, parts[0], ""}
	case len(parts) == 2 && parts[0] != "" && parts[1] != "":
		return tokenTarget{domain.Self, parts[0], parts[1]}
	case len(parts) == 3 && parts[0] != "" && parts[1] != "":
		return tokenTarget{parts[0], parts[1], parts[2]}
	}
	c.Refuse("only", "must be NAMESPACE, NAMESPACE/NAME, OWNER/NAMESPACE/ or OWNER/NAMESPACE/NAME, not %q", text)
	return tokenTarget{}
}

// TokenRevoke is `parley tokens revoke ID`.
type TokenRevoke struct {
	ID string `arg:"" help:"The id of the token, from the list."`
	connectionSettings
}

// Run revokes the token.
func (t *TokenRevoke) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	c.NotEmpty("ID", t.ID)
	client, err := t.connect(c)
	if err != nil {
		return err
	}
	err = client.Call(ctx, http.MethodDelete, "/user/token/"+url.PathEscape(t.ID), nil, nil)
	if apiclient.Status(err) == http.StatusNotFound {
		return command.NotFoundError("you have no token " + t.ID + "; `parley tokens` lists yours")
	}
	if err != nil {
		return fmt.Errorf("revoke the token: %w", err)
	}
	fmt.Fprintln(env.Stdout, "The token is revoked.")
	return nil
}
