package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"parley/internal/domain"
	"parley/internal/jsontext"
	"parley/internal/locale"
	"parley/llm"
)

const (
	// watchInterval is how often due watches are looked for.
	watchInterval = 5 * time.Second
	// watchesAtOnce is how many watches one process asks at a time.
	watchesAtOnce = 4
	// watchTimeout limits one of them, to less than its claim.
	watchTimeout = 90 * time.Second
	// retryWatch is how long a watch waits that could not be asked.
	retryWatch = 5 * time.Minute
	// maxWatched and maxWatchedBytes limit the rows of a result that the next one is compared with.
	maxWatched      = 500
	maxWatchedBytes = 64 << 10
)

// Watches are the queries to be asked again. Package sqlstore describes the methods.
type Watches interface {
	// MayWatch returns an error unless a user sees a pinned query.
	MayWatch(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, queryID string) (domain.SavedQuery, error)
	ClaimWatches(ctx context.Context, limit int) ([]domain.DueWatch, error)
	SettleWatch(ctx context.Context, due domain.DueWatch) error
}

// Watcher asks watched queries again, and starts runs that say what has changed in their rows. Any
// number of processes may: each change is asked for once.
type Watcher struct {
	// Config is that of the agents.
	Config Config
	Watches
	// Ask starts the run of a question. ErrMessageSent says that it was started before.
	Ask func(ctx context.Context, question domain.Question) error
	// Agent is the name of the one that answers.
	Agent string
	// Change says what the rows of a step have become since the rows before, in Markdown; "" if they are
	// the same.
	Change func(before llm.Rows, now llm.Step, numbers locale.Numbers) string
}

// Run asks until the context ends.
func (w Watcher) Run(ctx context.Context) {
	w.Config = w.Config.withDefaults()
	ended, running := make(chan struct{}), 0
	for ticker := time.Tick(watchInterval); ; {
		all, err := w.ClaimWatches(ctx, watchesAtOnce-running)
		if err != nil && ctx.Err() == nil {
			w.Config.Log.Warn("cannot look for due watches", "error", err)
		}
		for _, due := range all {
			running++
			go func() {
				w.askInTime(ctx, due)
				ended <- struct{}{}
			}()
		}
		select {
		case <-ended:
			running--
		case <-ticker:
		case <-ctx.Done():
			for ; running > 0; running-- {
				<-ended
			}
			return
		}
	}
}

// askInTime is ask with a time limit. A watch that is not settled is asked again when its claim has
// ended.
func (w Watcher) askInTime(ctx context.Context, due domain.DueWatch) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			w.Config.Log.Error("panic while a watched query was asked", "query", due.Query.ID, "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	if err := w.ask(ctx, due); err != nil && !errors.Is(err, context.Canceled) {
		w.Config.Log.Warn("cannot ask a watched query", "query", due.Query.ID, "user", due.Caller.Username, "error", err)
	}
}

// ask asks a query, starts a run if its rows have changed, and settles the watch.
func (w Watcher) ask(ctx context.Context, due domain.DueWatch) error {
	question := domain.Question{
		Agent: w.Agent, Caller: due.Caller, Namespace: due.Namespace, ConversationID: due.ConversationID, Text: due.Query.Question,
		NeverAsk: true, Push: due.Push,
	}
	_, err := w.MayWatch(ctx, due.Caller, due.Namespace, due.Query.ID)
	var found Found
	if err == nil {
		found, err = w.find(ctx, question, due.Query.Query)
	}
	switch {
	case errors.Is(err, domain.ErrInvalid), errors.Is(err, domain.ErrNotFound), errors.Is(err, domain.ErrForbidden):
		due.Problem = wordsOf(err, "you may not read the data any more, or it was deleted")
		due.Found = nil // rows that the user may not read any more
		return w.SettleWatch(ctx, due)
	case err != nil:
		return w.later(ctx, due, err)
	}
	due.Problem = ""
	now := newWatched(found)
	text, err := jsontext.Marshal(now)
	if err != nil {
		return fmt.Errorf("encode rows: %w", err)
	}
	if change, err := w.change(due.Found, now, found); err != nil {
		return err
	} else if change != "" {
		due.Change, due.ChangedAt = llm.Plain(change), w.Config.Now()
		question.Standing = &domain.Standing{Query: due.Query.Query, Change: due.Change}
		// The same change, asked for again after a crash, makes no second run.
		key := "watch-" + due.Query.ID + "-" + strconv.FormatInt(due.Due.UnixMilli(), 36)
		question.Message = domain.SentMessage{Key: key, Digest: key}
		if err := w.Ask(ctx, question); err != nil && !errors.Is(err, domain.ErrMessageSent) {
			return w.later(ctx, due, fmt.Errorf("start a run: %w", err))
		}
	}
	due.Found = text
	return w.SettleWatch(ctx, due)
}

// later has a watch asked again after a while, so that it does not hold up others of the user.
func (w Watcher) later(ctx context.Context, due domain.DueWatch, cause error) error {
	if ctx.Err() != nil {
		return cause
	}
	due.Problem, due.RetryAt = "it could not be asked; it is tried again", w.Config.Now().Add(retryWatch)
	return errors.Join(cause, w.SettleWatch(ctx, due))
}

// change says what has changed since the result before, which is nil at first; "" if nothing has.
func (w Watcher) change(before json.RawMessage, now watched, found Found) (string, error) {
	if before == nil {
		return "", nil
	}
	var was watched
	if err := json.Unmarshal(before, &was); err != nil {
		return "", fmt.Errorf("read rows: %w", err)
	}
	found.Rows.Rows, found.Rows.Total, found.Rows.Truncated = now.Rows, now.Total, now.Truncated
	change := w.Change(llm.Rows{Columns: was.Columns, Rows: was.Rows, Truncated: was.Truncated, Total: was.Total}, found.Step, locale.NumbersOf(""))
	if change == "" && was.Hash != now.Hash {
		change = "Some of the rows have changed."
	}
	return change, nil
}

// find runs the query of a watch.
func (w Watcher) find(ctx context.Context, question domain.Question, query string) (Found, error) {
	question.ConversationID = "" // whose attachments are not asked
	run := &Run{config: w.Config, question: question}
	all, err := w.Config.Lake.Datasets(ctx, question.Caller, run.scope())
	if err != nil {
		return Found{}, err
	}
	run.task.Datasets = describe(all)
	return run.again(ctx, query)
}

// Begin returns the result that the first change is known from.
func (w Watcher) Begin(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, query domain.SavedQuery) (json.RawMessage, error) {
	w.Config = w.Config.withDefaults()
	found, err := w.find(ctx, domain.Question{Agent: w.Agent, Caller: caller, Namespace: in, Text: query.Question}, query.Query)
	if err != nil {
		return nil, err
	}
	return jsontext.Marshal(newWatched(found))
}

// standingReasoning says how a question that is asked again was read.
const standingReasoning = "This question is asked again with its saved query."

// again runs a saved query as it is.
func (w *Run) again(ctx context.Context, query string) (Found, error) {
	found := Found{Step: llm.Step{Instruction: w.question.Text, Query: query, Reasoning: standingReasoning}, Confidence: 1, asIs: true}
	return found, w.run(ctx, &found)
}

// watched is a result that the next one is compared with.
type watched struct {
	Columns []string          `json:"columns"`
	Rows    []json.RawMessage `json:"rows"`
	// Truncated says that there are more rows, Total how many in all, if they were counted.
	Truncated bool  `json:"truncated,omitempty"`
	Total     int64 `json:"total,omitempty"`
	// Hash is that of rows that are too many to keep.
	Hash string `json:"hash,omitempty"`
}

// longFraction is a number with digits by which sums of doubles are inexact: they differ each time.
var longFraction = regexp.MustCompile(`[0-9]+\.[0-9]{6,}(?:e[-+]?[0-9]+)?`)

func roundFraction(text []byte) []byte {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return text
	}
	return strconv.AppendFloat(nil, n, 'g', 12, 64)
}

// newWatched keeps rows, in an order of their own: queries without one give them in any.
func newWatched(found Found) watched {
	rows := make([]json.RawMessage, len(found.Rows.Rows))
	for i, row := range found.Rows.Rows {
		rows[i] = longFraction.ReplaceAllFunc(row, roundFraction)
	}
	slices.SortFunc(rows, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	kept := watched{Columns: found.Rows.Columns, Rows: rows, Truncated: found.Rows.Truncated, Total: found.Rows.Total}
	size, hash := 0, sha256.New()
	for _, row := range rows {
		size += len(row)
		hash.Write(row)
	}
	if !kept.Truncated && len(rows) <= maxWatched && size <= maxWatchedBytes {
		return kept
	}
	if !kept.Truncated { // otherwise, which of the rows are given is not certain
		kept.Total, kept.Hash = int64(len(rows)), hex.EncodeToString(hash.Sum(nil))
	}
	kept.Rows, kept.Truncated = nil, true
	return kept
}
