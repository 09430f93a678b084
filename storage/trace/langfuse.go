package trace

import (
	"bytes"
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

	"parley/storage"
)

const (
	// scoreName is what Langfuse calls a rating.
	scoreName = "user-feedback"
	// callTimeout is how long one call of Langfuse may take.
	callTimeout = 5 * time.Second
	// maxAnswer is how much of what it answers is read.
	maxAnswer = 64 << 10
)

// LangfuseConfig says where Langfuse is and as whom to call it.
type LangfuseConfig struct {
	// Host is its address, such as https://cloud.langfuse.com.
	Host      string
	PublicKey string
	SecretKey string
	// Timeout is how long one call may take; 0 for 5 seconds.
	Timeout time.Duration
}

// TracesEndpoint is where it takes traces, with the headers that they need.
func (c LangfuseConfig) TracesEndpoint() (address string, headers map[string]string) {
	request := http.Request{Header: http.Header{}}
	request.SetBasicAuth(c.PublicKey, c.SecretKey)
	return strings.TrimRight(c.Host, "/") + "/api/public/otel/v1/traces", map[string]string{
		"Authorization": request.Header.Get("Authorization"),
		// Without it, traces are shown some minutes later.
		"x-langfuse-ingestion-version": "4",
	}
}

// Langfuse keeps scores by its public interface. All that goes wrong there is
// storage.ErrTracing, in words that hold neither keys nor what Langfuse said.
type Langfuse struct {
	cfg    LangfuseConfig
	client *http.Client
}

// NewLangfuse makes a Langfuse. Nothing is called yet.
func NewLangfuse(cfg LangfuseConfig) *Langfuse {
	if cfg.Timeout == 0 {
		cfg.Timeout = callTimeout
	}
	return &Langfuse{cfg: cfg, client: &http.Client{Timeout: cfg.Timeout, CheckRedirect: noRedirect}}
}

// noRedirect takes a redirect as the answer: keys and people's words go nowhere
// but where they were meant to.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

type scoreJSON struct {
	ID       string `json:"id"`
	TraceID  string `json:"traceId"`
	Name     string `json:"name"`
	Value    int    `json:"value"`
	DataType string `json:"dataType"`
	Comment  string `json:"comment,omitempty"`
}

// traceID gives the id of a run's trace: the same bytes.
func traceID(runID string) string {
	id, err := uuid.Parse(runID)
	if err != nil {
		return "" // cannot be: ids of runs are UUIDs
	}
	return hex.EncodeToString(id[:])
}

// scoreID gives the id of a run's score. Langfuse keeps scores by day, name and
// id, and deletes them by id alone, later: with the day in it, no day's score is
// taken for another's.
func scoreID(runID, day string) string { return traceID(runID) + "-" + scoreName + "-" + day }

// put makes the score of a day, or overwrites it.
func (l *Langfuse) put(ctx context.Context, rating storage.Rating, day string) error {
	score := scoreJSON{
		ID: scoreID(rating.RunID, day), TraceID: traceID(rating.RunID),
		Name: scoreName, DataType: "BOOLEAN", Comment: rating.Comment,
	}
	if rating.ThumbsUp {
		score.Value = 1
	}
	status, answer, err := l.call(ctx, http.MethodPost, "/api/public/scores", score)
	if err != nil {
		return err
	}
	var made struct {
		ID string `json:"id"`
	}
	switch {
	case !isSuccess(status):
		return refused("make a score", status)
	case json.Unmarshal(answer, &made) != nil || made.ID != score.ID:
		return fmt.Errorf("%w: make a score: what answered is not Langfuse", storage.ErrTracing)
	}
	return nil
}

// remove deletes the score of a day, if there is one.
func (l *Langfuse) remove(ctx context.Context, runID, day string) error {
	status, answer, err := l.call(ctx, http.MethodDelete, "/api/public/scores/"+url.PathEscape(scoreID(runID, day)), nil)
	var object map[string]json.RawMessage
	switch {
	case err != nil:
		return err
	case !isSuccess(status) && status != http.StatusNotFound:
		return refused("delete a score", status)
	case status != http.StatusNoContent && json.Unmarshal(answer, &object) != nil:
		return fmt.Errorf("%w: delete a score: what answered is not Langfuse", storage.ErrTracing)
	}
	return nil
}

func isSuccess(status int) bool { return status >= 200 && status <= 299 }

// refused says what an answer means for whoever reads the log.
func refused(attempt string, status int) error {
	reason := http.StatusText(status)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		reason += ": Langfuse does not take these keys"
	case status >= 300 && status <= 399:
		reason += ": the address sends elsewhere; set the right one"
	}
	return fmt.Errorf("%w: %s: %d %s", storage.ErrTracing, attempt, status, reason)
}

// call sends a request and reads a bounded answer.
func (l *Langfuse) call(ctx context.Context, method, path string, body any) (status int, answer []byte, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(l.cfg.Host, "/")+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, unreachable(err)
	}
	request.SetBasicAuth(l.cfg.PublicKey, l.cfg.SecretKey)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := l.client.Do(request)
	if err != nil {
		return 0, nil, unreachable(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return 0, nil, unreachable(err)
	}
	return response.StatusCode, answer, nil
}

// unreachable leaves out the address, which the settings have.
func unreachable(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return fmt.Errorf("%w: call Langfuse: %s", storage.ErrTracing, err)
}
