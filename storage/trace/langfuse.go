package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/internal/domain"
)

const (
	// scoreName is the name of ratings in Langfuse.
	scoreName = "user-feedback"
	// maxAnswer bounds the bytes that are read of an answer.
	maxAnswer = 64 << 10
)

// LangfuseConfig is the address of Langfuse and the keys for it.
type LangfuseConfig struct {
	// Host is its address, such as https://cloud.langfuse.com.
	Host      string
	PublicKey string
	SecretKey string
	// Timeout bounds one call; 0 for 5 seconds.
	Timeout time.Duration
}

// tracesEndpoint is the address for traces, with the headers that they need.
func (c LangfuseConfig) tracesEndpoint() (address string, headers map[string]string) {
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth(c.PublicKey, c.SecretKey)
	return strings.TrimRight(c.Host, "/") + "/api/public/otel/v1/traces", map[string]string{
		"Authorization": request.Header.Get("Authorization"),
		// Without it, traces appear minutes later.
		"x-langfuse-ingestion-version": "4",
	}
}

// Langfuse is a client of Langfuse's public interface for scores. Its failures are
// domain.ErrTracing, and show neither keys nor Langfuse's answer.
type Langfuse struct {
	cfg    LangfuseConfig
	client *http.Client
}

// NewLangfuse makes a Langfuse. It calls nothing.
func NewLangfuse(cfg LangfuseConfig) *Langfuse {
	timeout := cmp.Or(cfg.Timeout, 5*time.Second)
	return &Langfuse{cfg: cfg, client: &http.Client{Timeout: timeout, CheckRedirect: noRedirect}}
}

// noRedirect follows no redirect: keys and users' texts go to the set address only.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

type scoreJSON struct {
	ID       string `json:"id"`
	TraceID  string `json:"traceId"`
	Name     string `json:"name"`
	Value    int    `json:"value"`
	DataType string `json:"dataType"`
	Comment  string `json:"comment,omitempty"`
}

// traceID returns the id of a run's trace: the bytes of the run's id.
func traceID(runID string) string {
	id, _ := uuid.Parse(runID) // ids of runs are UUIDs
	return hex.EncodeToString(id[:])
}

// scoreID returns the id of a run's score. Langfuse stores scores by day, name and id, and
// deletes them by id, later. With the day in the id it deletes no other day's.
func scoreID(runID, day string) string { return traceID(runID) + "-" + scoreName + "-" + day }

func (l *Langfuse) put(ctx context.Context, rating domain.Rating, day string) error {
	score := scoreJSON{
		ID: scoreID(rating.RunID, day), TraceID: traceID(rating.RunID),
		Name: scoreName, DataType: "BOOLEAN", Comment: rating.Comment,
	}
	if rating.ThumbsUp {
		score.Value = 1
	}
	var written struct {
		ID string `json:"id"`
	}
	err := l.call(ctx, "make a score", http.MethodPost, "/api/public/scores", score, &written)
	if err == nil && written.ID != score.ID {
		return notLangfuse("make a score")
	}
	return err
}

// remove deletes the score of a day, if there is one.
func (l *Langfuse) remove(ctx context.Context, runID, day string) error {
	var object map[string]json.RawMessage
	return l.call(ctx, "delete a score", http.MethodDelete, "/api/public/scores/"+url.PathEscape(scoreID(runID, day)), nil, &object)
}

func isSuccess(status int) bool { return status/100 == 2 }

// refused explains a status for the log.
func refused(attempt string, status int) error {
	reason := http.StatusText(status)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		reason += ": Langfuse does not take these keys"
	case status/100 == 3:
		reason += ": the address redirects to another one; set that"
	}
	return fmt.Errorf("%w: %s: %d %s", domain.ErrTracing, attempt, status, reason)
}

func notLangfuse(attempt string) error {
	return fmt.Errorf("%w: %s: what answered is not Langfuse", domain.ErrTracing, attempt)
}

// call sends a request and decodes the answer. That something to delete is not found is
// no error.
func (l *Langfuse) call(ctx context.Context, attempt, method, path string, body, answer any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(l.cfg.Host, "/")+path, &content)
	if err != nil {
		return unreachable(err)
	}
	request.SetBasicAuth(l.cfg.PublicKey, l.cfg.SecretKey)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch status := response.StatusCode; {
	case err != nil:
		return unreachable(err)
	case !isSuccess(status) && !(method == http.MethodDelete && status == http.StatusNotFound):
		return refused(attempt, status)
	case status != http.StatusNoContent && json.Unmarshal(text, answer) != nil:
		return notLangfuse(attempt)
	}
	return nil
}

// unreachable leaves out the address, which is in the settings.
func unreachable(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return fmt.Errorf("%w: call Langfuse: %s", domain.ErrTracing, err)
}
