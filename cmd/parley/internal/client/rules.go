package client

import (
	"context"
	"fmt"
	"net/http"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// Rules is `parley rules DATASET [USER] [CONDITION]`.
type Rules struct {
	Dataset   string  `arg:"" placeholder:"NAMESPACE/NAME" help:"One of your datasets."`
	User      *string `arg:"" optional:"" help:"The user, or a group as group:NAME. Without it, list the rules."`
	Condition string  `arg:"" optional:"" help:"An SQL condition: the user sees the rows for which it is true, such as \"region = 'south'\"."`
	Column    string  `env:"-" placeholder:"NAME" help:"Instead of a condition: the column that must equal the user's --claim."`
	Claim     string  `env:"-" placeholder:"NAME" help:"The claim of the user's token."`
	Remove    bool    `env:"-" help:"Remove the rule."`
	outputSettings
	connectionSettings
}

type ruleEntry struct {
	Username  string `json:"username"`
	Condition string `json:"condition,omitempty"`
	Column    string `json:"column,omitempty"`
	Claim     string `json:"claim,omitempty"`
}

// Run sets, removes or lists rules.
func (r *Rules) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	ref, err := apiclient.ParseDataset(r.Dataset)
	if err != nil {
		c.Add("DATASET " + err.Error())
	}
	if r.User != nil {
		c.Grantee(*r.User)
		given := 0
		for _, is := range []bool{r.Condition != "", r.Column != "" && r.Claim != "", r.Remove} {
			if is {
				given++
			}
		}
		if given != 1 || (r.Column == "") != (r.Claim == "") {
			c.Add("give a CONDITION, --column and --claim, or --remove")
		}
	}
	client, err := r.connect(c)
	if err != nil {
		return err
	}
	path := ref.Path("/permissions/datasets") + "/rules"
	if r.User == nil {
		rules := []ruleEntry{}
		if err := client.Call(ctx, http.MethodGet, path, nil, &rules); err != nil {
			return fmt.Errorf("list the rules of %s: %w", ref, err)
		}
		if len(rules) == 0 && r.format() == console.FormatTable {
			fmt.Fprintf(env.Stdout, "%s has no row rules.\n", ref)
			return nil
		}
		table := console.Table{Columns: []console.Column{{Name: "user"}, {Name: "rows"}}}
		for _, rule := range rules {
			rows := rule.Condition
			if rule.Claim != "" {
				rows = rule.Column + " is in the claim " + rule.Claim
			}
			table.Rows = append(table.Rows, []string{rule.Username, rows})
		}
		return writeList(env, r.format(), rules, table)
	}
	user, method := domain.NormalizeUsername(*r.User), http.MethodPost
	if r.Remove {
		method = http.MethodDelete
	}
	var set struct{ VisibleRows, RowCount int64 }
	var answer any = &set
	if r.Remove {
		answer = nil
	}
	err = client.Call(ctx, method, path, ruleEntry{Username: *r.User, Condition: r.Condition, Column: r.Column, Claim: r.Claim}, answer)
	if err != nil {
		return fmt.Errorf("change the rules of %s: %w", ref, err)
	}
	done := fmt.Sprintf("%s sees %d of %d rows of %s now.", user, set.VisibleRows, set.RowCount, ref)
	switch {
	case r.Remove:
		done = fmt.Sprintf("The rule for %s is removed. Without rules, all rows of %s are visible; with others, %[1]s sees none.", user, ref)
	case r.Claim != "":
		done = fmt.Sprintf("%s sees the rows of %s whose %s is in the claim %s now.", user, ref, r.Column, r.Claim)
	}
	fmt.Fprintln(env.Stdout, console.Line(done))
	return nil
}
