package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"parley/internal/fair"
	"parley/internal/retry"
)

// ChatConfig has the settings of a [Chat]; zero values select the defaults.
type ChatConfig struct {
	// Timeout limits one call of the model: 2 minutes.
	Timeout time.Duration
	// Idle is how long a model may be silent within a call: a minute.
	Idle time.Duration
	// Concurrency is how many calls run at once: 8. Others wait.
	Concurrency int
	// Observe is called after every job.
	Observe func(JobDone)
	// Facts describes the values of datasets, which it reads from data; nil when they are not
	// known. Datasets that cannot be read before ctx ends have no facts.
	Facts func(ctx context.Context, data Data, datasets []Dataset) Facts
}

// JobDone describes a job that ended.
type JobDone struct {
	// Job is plan, query, answer, extract or describe.
	Job      string
	Usage    Usage
	Duration time.Duration
	// Err is why it failed. An [UnanswerableError] is a success.
	Err error
}

// Chat does jobs with a chat model. It is safe for concurrent use.
//
// Answers are streamed from the provider, so that a model that hangs is noticed after
// ChatConfig.Idle, and checked when they are complete; when one is wrong, the model is told
// why and asked once more.
//
// Errors wrap [ErrUnavailable] when the model could not be called, or [ErrNoAnswer] when its
// answers were of no use, and have texts for the user; or they wrap the context's.
type Chat struct {
	caller caller
	idle   time.Duration
	// plainUntil says until when a job is requested without stream and shape.
	plainUntil sync.Map
	observe    func(JobDone)
	readFacts  func(ctx context.Context, data Data, datasets []Dataset) Facts
}

var (
	_ Jobs      = (*Chat)(nil)
	_ Extractor = (*Chat)(nil)
	_ Describer = (*Chat)(nil)
)

// NewChat returns a [Chat] that uses a model.
func NewChat(model *Model, cfg ChatConfig) *Chat {
	if cfg.Observe == nil {
		cfg.Observe = func(JobDone) {}
	}
	concurrency := cmp.Or(cfg.Concurrency, 8)
	return &Chat{
		idle:      cmp.Or(cfg.Idle, time.Minute),
		observe:   cfg.Observe,
		readFacts: cfg.Facts,
		caller: caller{
			model:   model,
			timeout: cmp.Or(cfg.Timeout, 2*time.Minute),
			slots:   fair.New(fair.Config{Slots: concurrency, SlotsPerUser: concurrency}),
			retry:   retry.Policy{Initial: initialBackoff, Max: maxBackoff, Jitter: true, Tries: tries, Retryable: isRetryable, After: retryAfter},
		},
	}
}

// Spec names the model.
func (c *Chat) Spec() Spec { return c.caller.model.Spec() }

// errTruncated says that the model was stopped before the end of its answer.
var errTruncated = errors.New("the answer was cut off: be much briefer")

// run does a job: it renders the prompt, calls the model, and reads the answer with read.
// When that fails, it sends the model the error and reads a second answer. It adds what
// the calls used to usage.
func (c *Chat) run(ctx context.Context, job string, form *shape, view any, usage *Usage, read func(text string) error) (err error) {
	start := time.Now()
	usage.Model = c.Spec().String()
	defer func() {
		done := JobDone{Job: job, Usage: *usage, Duration: time.Since(start), Err: err}
		if isUnanswerable(err) {
			done.Err = nil
		}
		c.observe(done)
	}()
	messages, err := render(job, form, view)
	if err != nil {
		return err
	}
	for last := false; ; last = true {
		answer, err := c.ask(ctx, job, form, messages)
		usage.Add(answer.usage)
		var wrong error
		switch {
		case err == nil:
			if wrong = check(answer, form, read); wrong == nil || isUnanswerable(wrong) {
				return wrong
			}
		case errors.Is(err, ErrNoAnswer) && ctx.Err() == nil:
			wrong = err
		default:
			return c.caller.explain(ctx, err)
		}
		if last || form != nil && form.all && errors.Is(wrong, errTruncated) {
			return c.caller.explain(ctx, fmt.Errorf("%w: %w", ErrNoAnswer, wrong))
		}
		messages = retryMessages(messages, answer.text, wrong)
	}
}

func isUnanswerable(err error) bool {
	var unanswerable *UnanswerableError
	return errors.As(err, &unanswerable)
}

// check reads an answer. A truncated one is accepted when its JSON is complete.
func check(answer reply, form *shape, read func(string) error) error {
	err := read(answer.text)
	if answer.truncated && (err != nil || form == nil) {
		return errTruncated
	}
	return err
}

// ask calls the model. When the provider refuses a request with stream and shape, it sends
// one without, and does so for a while: not all servers with OpenAI's interface support
// them, and the prompt has the schema too.
func (c *Chat) ask(ctx context.Context, job string, form *shape, messages []llms.MessageContent) (reply, error) {
	if until, plain := c.plainUntil.Load(job); !plain || time.Now().After(until.(time.Time)) {
		answer, err := c.caller.call(ctx, callOptions{shape: form, idle: c.idle}, messages)
		if !isUnsupportedForm(err) || ctx.Err() != nil {
			return answer, err
		}
	}
	answer, err := c.caller.call(ctx, callOptions{}, messages)
	if err == nil {
		c.plainUntil.Store(job, time.Now().Add(plainFor))
	}
	return answer, err
}

// plainFor is how long requests have no stream and shape after a refusal, which may have
// had another reason.
const plainFor = 10 * time.Minute

func isUnsupportedForm(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Code == http.StatusBadRequest || status.Code == http.StatusUnprocessableEntity)
}

// retryMessages asks once more and says what was wrong. Providers require that messages
// alternate, also after an empty answer.
func retryMessages(messages []llms.MessageContent, text string, wrong error) []llms.MessageContent {
	text = cmp.Or(strings.TrimSpace(clean(text)), "(nothing)")
	return append(messages[:len(messages):len(messages)],
		llms.TextParts(llms.ChatMessageTypeAI, shorten(text, 8<<10)),
		llms.TextParts(llms.ChatMessageTypeHuman, fmt.Sprintf(
			"That cannot be used: %s. Do the same task again, in the form that was asked for.", shorten(clean(wrong.Error()), maxErrorText))))
}
