package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"parley/cards"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// Receipt is `parley receipt RUN`.
type Receipt struct {
	RunID string `arg:"" name:"run" help:"The run, which is a task: see parley tasks."`
	connectionSettings
}

// Run prints the receipt.
func (r *Receipt) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	c.NotEmpty("RUN", r.RunID)
	client, err := r.connect(c)
	if err != nil {
		return err
	}
	var receipt json.RawMessage
	if err := client.Call(ctx, http.MethodGet, "/query/runs/"+url.PathEscape(r.RunID)+"/receipt", nil, &receipt); err != nil {
		return fmt.Errorf("get the receipt: %w", err)
	}
	var text bytes.Buffer
	if err := json.Indent(&text, receipt, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, text.String())
	return err
}

// Verify is `parley verify FILE`.
type Verify struct {
	File string `arg:"" help:"The file with the receipt; - for standard input."`
	Keys string `env:"-" placeholder:"URL|FILE" help:"An address or a file with the keys, instead of those of the server that the receipt names."`
	JSON bool   `env:"-" name:"json" help:"Print JSON."`
	connectionSettings
}

// maxReceipt limits a receipt, in bytes.
const maxReceipt = 1 << 20

// errDiffers is that an answer is not found again.
var errDiffers = errors.New("the answer is not the same now")

// rowsReport says what a step of a receipt gives now.
type rowsReport struct {
	Same     bool   `json:"same"`
	RowCount int    `json:"rowCount"`
	Reason   string `json:"reason,omitempty"`
}

// Run verifies the signature with the keys of the server that the receipt names. If commands
// call that server, its queries are run again.
func (v *Verify) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	v.check(c)
	if err := c.Err(); err != nil {
		return err
	}
	text, err := readReceipt(v.File)
	if err != nil {
		return err
	}
	signed, err := cards.ReadSigned(text)
	if err != nil {
		return fmt.Errorf("read the receipt: %w", err)
	}
	var receipt struct {
		Type, Server, Question string
		Steps                  []struct{ Query string }
	}
	if err := json.Unmarshal(text, &receipt); err != nil || receipt.Type != "parley-receipt-1" {
		return fmt.Errorf("%s is no receipt of Parley", v.File)
	}
	server, err := url.Parse(receipt.Server)
	if err != nil || server.Host == "" {
		return fmt.Errorf("%s names no server, but %q", v.File, receipt.Server)
	}
	reports, unsigned := verifySignatures(ctx, signed, v.Keys, server)
	again := struct {
		Same  bool         `json:"same"`
		Steps []rowsReport `json:"steps"`
	}{Steps: []rowsReport{}}
	here, _ := url.Parse(v.Server) // which was checked
	runs := unsigned == nil && origin(here) == origin(server)
	if runs {
		client, err := v.client()
		if err == nil {
			err = client.Call(ctx, http.MethodPost, "/query/receipts/verify", json.RawMessage(text), &again)
		}
		if err != nil {
			return fmt.Errorf("run the queries again: %w", err)
		}
	}
	if v.JSON {
		err = writeJSON(env.Stdout, map[string]any{"server": receipt.Server, "signatures": reports, "ranAgain": runs, "same": again.Same, "steps": again.Steps})
	} else {
		err = v.write(env, receipt.Server, receipt.Question, reports, runs, again.Steps)
	}
	if err == nil && runs && !again.Same {
		err = errDiffers
	}
	return cmp.Or(unsigned, err)
}

func (v *Verify) write(env command.Env, server, question string, reports []signatureReport, ran bool, steps []rowsReport) error {
	style := console.StyleOf(env.Stdout)
	for _, r := range reports {
		line := style.Bold("not signed by "+console.Line(server)) + ": " + console.Line(r.Reason)
		if r.Verified {
			line = style.Bold("signed") + " by " + console.Line(server) + ": " + console.Line(question)
		}
		if _, err := fmt.Fprintln(env.Stdout, line); err != nil {
			return err
		}
	}
	for i, step := range steps {
		words := "differs"
		if step.Same {
			words = "the same"
		}
		if _, err := fmt.Fprintf(env.Stdout, "step %d: %s, %s. %s\n", i+1, style.Bold(words), plural(step.RowCount, "row"), console.Line(step.Reason)); err != nil {
			return err
		}
	}
	if !ran {
		fmt.Fprintf(env.Stderr, "Its queries were not run again: use --server %s for that.\n", console.Line(server))
	}
	return nil
}

// readReceipt reads a file or standard input.
func readReceipt(path string) ([]byte, error) {
	file := os.Stdin
	if path != "-" {
		var err error
		if file, err = os.Open(path); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	text, err := io.ReadAll(io.LimitReader(file, maxReceipt+1))
	if err == nil && len(text) > maxReceipt {
		err = fmt.Errorf("%s has more than %d bytes, and a receipt has not", path, maxReceipt)
	}
	return text, err
}
