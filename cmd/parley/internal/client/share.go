package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// Share is `parley share WHAT [USER]`.
type Share struct {
	What   string  `arg:"" placeholder:"NAMESPACE[/NAME]" help:"One of your namespaces, with all its datasets, also later ones, or one dataset."`
	User   *string `arg:"" optional:"" help:"The user to share it with, or a group as group:NAME. Without it, list the shares."`
	Role   string  `env:"-" default:"viewer" placeholder:"viewer|editor" help:"viewer reads and asks; editor also changes data (${default})."`
	Revoke bool    `env:"-" help:"Revoke the share."`
	outputSettings
	connectionSettings
}

// shareEntry is a share in a list.
type shareEntry struct {
	Username string      `json:"username"`
	Role     domain.Role `json:"role"`
	// Dataset is "" for a share of what was asked about.
	Dataset string `json:"dataset,omitempty"`
}

// Run shares, takes back or lists.
func (s *Share) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	what := s.target(c)
	client, err := s.connect(c)
	if err != nil {
		return err
	}
	path := sharesPath(what)
	switch {
	case s.User == nil:
		err = listShares(ctx, client, env, what, s.format())
	case s.Revoke:
		err = client.Call(ctx, http.MethodDelete, path, shareEntry{Username: *s.User, Role: domain.Role(s.Role)}, nil)
	default:
		err = client.Call(ctx, http.MethodPost, path, shareEntry{Username: *s.User, Role: domain.Role(s.Role)}, nil)
	}
	if apiclient.Status(err) == http.StatusNotFound && what.Name != "" && s.user().is(what.Namespace) {
		return command.NotFoundError(fmt.Sprintf("you have no namespace %s with a dataset %s; for your namespace: `parley share %s`", what.Namespace, what.Name, what.Name))
	}
	if apiclient.Status(err) == http.StatusNotFound && s.Revoke {
		return command.NotFoundError(fmt.Sprintf("%s is not shared with %s; `parley share %s` lists its shares", what, *s.User, s.What))
	}
	if err != nil {
		return fmt.Errorf("share %s: %w", what, err)
	}
	if s.User != nil {
		fmt.Fprintln(env.Stdout, console.Line(s.done(what)))
	}
	return nil
}

func (s *Share) target(c *command.Checker) apiclient.Ref {
	parts := strings.Split(s.What, "/")
	if len(parts) == 3 && s.user().is(parts[0]) {
		parts = parts[1:]
	}
	namespace, name := parts[0], strings.Join(parts[1:], "/")
	what := apiclient.Ref{Owner: domain.Self, Namespace: namespace, Name: name}
	err := what.Check()
	if len(parts) > 1 && name == "" {
		err = errors.New("has no name after the /") // and does not mean the whole namespace
	}
	if err != nil {
		c.Add("WHAT must be NAMESPACE or NAMESPACE/NAME; it " + err.Error())
	}
	if role := domain.Role(s.Role); role != domain.Viewer && role != domain.Editor {
		c.Refuse("role", "must be viewer or editor, not %q", s.Role)
	}
	if s.User != nil {
		c.Grantee(*s.User)
	} else if s.Revoke {
		c.Refuse("revoke", "needs a USER")
	}
	return what
}

func sharesPath(what apiclient.Ref) string {
	if what.Name != "" {
		return what.Path("/permissions/datasets") + "/shares"
	}
	return what.Path("/permissions/namespaces") + "/shares"
}

// listShares lists the shares of a dataset, or of a namespace and its datasets.
func listShares(ctx context.Context, client *apiclient.Client, env command.Env, what apiclient.Ref, format console.Format) error {
	shares := []shareEntry{}
	if err := client.Call(ctx, http.MethodGet, sharesPath(what), nil, &shares); err != nil {
		return err
	}
	table := console.Table{Columns: []console.Column{{Name: "user"}, {Name: "role"}}}
	if what.Name == "" {
		of, err := datasetShares(ctx, client, what)
		if err != nil {
			return err
		}
		shares = append(shares, of...)
		table.Columns = append(table.Columns, console.Column{Name: "dataset"})
	}
	if len(shares) == 0 && format == console.FormatTable {
		fmt.Fprintf(env.Stdout, "%s is shared with nobody.\n", what)
		return nil
	}
	for _, share := range shares {
		dataset := console.None
		if share.Dataset != "" {
			dataset = share.Dataset
		}
		table.Rows = append(table.Rows, []string{share.Username, string(share.Role), dataset})
	}
	return writeList(env, format, shares, table)
}

// datasetShares lists the shares of the datasets of a namespace.
func datasetShares(ctx context.Context, client *apiclient.Client, namespace apiclient.Ref) (all []shareEntry, err error) {
	var datasets []datasetEntry
	if err := client.Call(ctx, http.MethodGet, namespace.Path("/schema")+"/datasets", nil, &datasets); err != nil {
		return nil, err
	}
	shares := make([][]shareEntry, len(datasets))
	var group errgroup.Group
	group.SetLimit(connections)
	for i, dataset := range datasets {
		ref := namespace
		ref.Name = dataset.Name
		group.Go(func() error {
			err := client.Call(ctx, http.MethodGet, sharesPath(ref), nil, &shares[i])
			if apiclient.Status(err) == http.StatusNotFound {
				return nil // deleted meanwhile
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, of := range shares {
		for _, share := range of {
			share.Dataset = datasets[i].Name
			all = append(all, share)
		}
	}
	return all, nil
}

// done describes the change.
func (s *Share) done(what apiclient.Ref) string {
	user := domain.NormalizeUsername(*s.User)
	switch {
	case s.Revoke:
		return fmt.Sprintf("The share of %s with %s is taken back.", what, user)
	case s.Role == string(domain.Editor):
		return fmt.Sprintf("%s can read and change %s now.", user, what)
	default:
		return fmt.Sprintf("%s can read %s now.", user, what)
	}
}
