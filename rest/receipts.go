package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/domain"
)

// receiptType names the form of receipts.
const receiptType = "parley-receipt-1"

// maxReceiptSteps limits the steps of a receipt that are run again.
const maxReceiptSteps = 20

// receipt says how an answer was found, so that it can be found again. It is signed, and has no
// rows.
type receipt struct {
	Type     string        `json:"type"`
	Server   string        `json:"server"`
	RunID    string        `json:"runId"`
	Agent    string        `json:"agent"`
	AskedBy  string        `json:"askedBy"`
	AskedAt  time.Time     `json:"askedAt"`
	Question string        `json:"question"`
	Steps    []receiptStep `json:"steps"`
}

// receiptStep is a step with a hash of its rows, in any order.
type receiptStep struct {
	Instruction string          `json:"instruction"`
	Reading     string          `json:"reading"`
	Query       string          `json:"query"`
	Datasets    []domain.Source `json:"datasets"`
	RowCount    int             `json:"rowCount"`
	Truncated   bool            `json:"truncated,omitempty"`
	RowsHash    string          `json:"rowsHash"`
	VerifiedBy  string          `json:"verifiedBy,omitempty"`
}

// getReceipt answers with the signed receipt of a completed run.
func (s *Server) getReceipt(r *request, id string) (any, error) {
	run, release, err := s.readRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	defer release()
	if run.Status != domain.RunCompleted {
		return nil, domain.Errorf(domain.ErrRunNotCompleted, "only a completed run has a receipt; this one is %s", run.Status)
	}
	made := receipt{
		Type: receiptType, Server: siteOf(r.Context), RunID: run.ID, Agent: run.Agent, AskedBy: r.caller.Username,
		AskedAt: run.CreatedAt.UTC(), Question: run.Question, Steps: []receiptStep{},
	}
	var result struct {
		Steps []struct {
			Instruction, Query, Reasoning, VerifiedBy string
			Truncated                                 bool
			Data                                      []json.RawMessage
			Sources                                   []domain.Source
		}
	}
	if err := json.Unmarshal(run.Result, &result); err != nil {
		return nil, fmt.Errorf("read the result of run %s: %w", id, err)
	}
	for _, step := range result.Steps {
		hash, err := hashRows(step.Data)
		if err != nil {
			return nil, fmt.Errorf("read the rows of run %s: %w", id, err)
		}
		made.Steps = append(made.Steps, receiptStep{
			step.Instruction, step.Reasoning, step.Query, orEmpty(step.Sources), len(step.Data), step.Truncated, hash, step.VerifiedBy,
		})
	}
	text, err := json.Marshal(made)
	if err == nil {
		text, err = s.cfg.SignReceipt(r.ctx(), text)
	}
	if err != nil {
		return nil, fmt.Errorf("sign the receipt of run %s: %w", id, err)
	}
	return json.RawMessage(text), nil
}

// hashRows returns a hash of rows. It is the same for rows in another order, and for numbers that
// differ behind the 12th digit: the order of additions changes these.
func hashRows(rows []json.RawMessage) (string, error) {
	lines := make([]string, len(rows))
	for i, row := range rows {
		var members map[string]any
		decoder := json.NewDecoder(bytes.NewReader(row))
		decoder.UseNumber()
		if err := decoder.Decode(&members); err != nil {
			return "", err
		}
		delete(members, "__metadata") // which has scores
		text, err := json.Marshal(rounded(members))
		if err != nil {
			return "", err
		}
		lines[i] = string(text)
	}
	slices.Sort(lines)
	hash := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(hash[:]), nil
}

// rounded rounds the numbers of a JSON value that have a fraction.
func rounded(value any) any {
	switch value := value.(type) {
	case json.Number:
		if number, err := value.Float64(); err == nil && strings.ContainsAny(value.String(), ".eE") {
			return strconv.FormatFloat(number, 'g', 12, 64)
		}
		return value.String()
	case map[string]any:
		for name := range value {
			value[name] = rounded(value[name])
		}
	case []any:
		for i := range value {
			value[i] = rounded(value[i])
		}
	}
	return value
}

type receiptCheck struct {
	// Signed says that this server has signed the receipt as it is; Problem why not.
	Signed  bool   `json:"signed"`
	Problem string `json:"problem,omitempty"`
	// Same says that all steps give the same rows now.
	Same  bool        `json:"same"`
	Steps []stepCheck `json:"steps"`
}

// stepCheck is what a step of a receipt gives now. Reason says why that is not the same, or why it
// is not known.
type stepCheck struct {
	Same     bool   `json:"same"`
	RowCount int    `json:"rowCount"`
	Reason   string `json:"reason,omitempty"`
}

// checkReceipt verifies the signature of a receipt and runs its queries again, with the rights of
// the caller.
func (s *Server) checkReceipt(r *request) (any, error) {
	text := r.body(s.cfg.MaxBody, mediaJSON)
	if err := r.err(); err != nil {
		return nil, err
	}
	if !json.Valid(text) {
		return nil, domain.Errorf(errBadRequest, "the body is not JSON")
	}
	var given receipt
	if json.Unmarshal(text, &given) != nil || given.Type != receiptType {
		return nil, domain.Errorf(domain.ErrInvalid, "the body must be a receipt, as GET /query/runs/{runId}/receipt returns it")
	}
	if len(given.Steps) > maxReceiptSteps {
		return nil, domain.Errorf(domain.ErrInvalid, "a receipt has at most %d steps", maxReceiptSteps)
	}
	check := receiptCheck{Signed: true, Same: len(given.Steps) > 0, Steps: []stepCheck{}}
	if err := s.cfg.CheckReceipt(text); err != nil {
		check.Signed, check.Problem = false, err.Error()
	}
	for _, step := range given.Steps {
		again, err := s.runAgain(r.ctx(), r.caller, step)
		if err != nil {
			return nil, err
		}
		check.Same = check.Same && again.Same
		check.Steps = append(check.Steps, again)
	}
	return check, nil
}

// runAgain runs a step of a receipt over the datasets as they are.
func (s *Server) runAgain(ctx context.Context, caller domain.Caller, step receiptStep) (stepCheck, error) {
	if len(step.Datasets) == 0 || step.Query == "" {
		return stepCheck{Reason: "It has no query over datasets."}, nil
	}
	parts := strings.Split(step.Datasets[0].Dataset, "/")
	if len(parts) != 3 {
		return stepCheck{Reason: "It reads a file of the conversation, which cannot be read outside."}, nil
	}
	result, err := s.cfg.Datasets.Query(ctx, caller, domain.DataScope{Namespace: domain.NamespaceRef{Owner: parts[0], Name: parts[1]}}, step.Query)
	known, ok := errors.AsType[*domain.Error](err)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return stepCheck{Reason: "You cannot read its data."}, nil
	case ok && errors.Is(err, domain.ErrInvalid):
		return stepCheck{Reason: "It does not run for you now: " + known.Message + "."}, nil
	case err != nil:
		return stepCheck{}, err
	}
	hash, err := hashRows(result.Rows)
	if err != nil {
		return stepCheck{}, err
	}
	check := stepCheck{Same: hash == step.RowsHash, RowCount: len(result.Rows)}
	var changed []string
	unknown := false
	for _, source := range step.Datasets {
		at := slices.IndexFunc(result.Sources, func(now domain.Source) bool { return now.Dataset == source.Dataset })
		known := source.Version != 0 && at >= 0 && result.Sources[at].Version != 0 // not to who sees only some rows
		unknown = unknown || !known
		if at < 0 || known && result.Sources[at] != source {
			changed = append(changed, source.Dataset)
		}
	}
	switch {
	case len(changed) > 0:
		check.Reason = "The data has changed since: " + strings.Join(changed, ", ") + "."
	case !check.Same && step.Truncated:
		check.Reason = "The result was cut off, so others of its rows can come first."
	case !check.Same && unknown:
		check.Reason = "The rows are not the same: the data has changed since, or you see other rows than who asked."
	case !check.Same:
		check.Reason = "The data is the same, and the rows are not: you may see other rows than who asked."
	}
	return check, nil
}
