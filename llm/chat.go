package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"

	"parley/internal/retry"
)

// ChatConfig bounds what a [Chat] asks of its model. Zero values are replaced by
// those that are named.
type ChatConfig struct {
	// Timeout bounds one call of the model: 2 minutes.
	Timeout time.Duration
	// Idle is how long a model may be silent within a call: a minute.
	Idle time.Duration
	// Concurrency is how many calls run at once: 8. Others wait.
	Concurrency int
	// Tries is how often a call is made that fails for reasons that pass: 3.
	Tries int
	// Observe is told of every job that ended.
	Observe func(JobDone)
	// Catalog says what datasets hold; nil where that is not known.
	Catalog Catalog
}

// JobDone tells of a job that ended.
type JobDone struct {
	// Job is plan, query, answer, extract or describe.
	Job string
	// Usage is what it took, also where it failed.
	Usage    Usage
	Duration time.Duration
	// Err is why it failed. An [UnanswerableError] is a success.
	Err error
}

// Chat does jobs by asking a chat model. It may be used by many at once.
//
// Answers are streamed from the provider and read to their end before anything
// is made of them: a model that hangs is noticed after ChatConfig.Idle, and an
// answer that breaks off is never taken for a whole one. What a model writes is
// checked; when it is wrong, the model is told what is, and asked once more.
//
// Errors wrap [ErrUnavailable] where the model could not be asked, [ErrNoAnswer]
// where it wrote nothing of use, and their texts are fit for whoever asked; or
// they wrap the context's when that has ended.
type Chat struct {
	caller caller
	idle   time.Duration
	// plainUntil has the jobs that the provider wants to be asked for without more.
	plainUntil sync.Map
	observe    func(JobDone)
	catalog    Catalog
}

var (
	_ Jobs      = (*Chat)(nil)
	_ Extractor = (*Chat)(nil)
	_ Describer = (*Chat)(nil)
)

// NewChat has jobs done by a model.
func NewChat(model *Model, cfg ChatConfig) *Chat {
	or := func(d, standard time.Duration) time.Duration {
		if d <= 0 {
			return standard
		}
		return d
	}
	if cfg.Concurrency <= 0 {
		cfg.Concurrency = 8
	}
	if cfg.Tries <= 0 {
		cfg.Tries = 3
	}
	if cfg.Observe == nil {
		cfg.Observe = func(JobDone) {}
	}
	return &Chat{
		idle:    or(cfg.Idle, time.Minute),
		observe: cfg.Observe,
		catalog: cfg.Catalog,
		caller: caller{
			model:   model,
			timeout: or(cfg.Timeout, 2*time.Minute),
			slots:   make(chan struct{}, cfg.Concurrency),
			retry:   retry.Policy{Initial: initialBackoff, Max: maxBackoff, Jitter: true, Tries: cfg.Tries, After: pauseAskedFor},
		},
	}
}

// Spec names the model.
func (c *Chat) Spec() Spec { return c.caller.model.Spec() }

// errTruncated says that a model was stopped before it was done.
var errTruncated = errors.New("the answer was cut off: be much briefer")

// run does a job: it renders its prompt, asks, and reads the answer with read,
// twice when that fails. The error of read is told to the model.
func (c *Chat) run(ctx context.Context, job string, form *shape, view any, read func(text string) error) (usage Usage, err error) {
	start := time.Now()
	usage.Model = c.Spec().String()
	defer func() {
		done := JobDone{Job: job, Usage: usage, Duration: time.Since(start), Err: err}
		var unanswerable *UnanswerableError
		if errors.As(err, &unanswerable) {
			done.Err = nil
		}
		c.observe(done)
	}()
	messages, err := render(job, form, view)
	if err != nil {
		return usage, err
	}
	for last := false; ; last = true {
		answer, err := c.ask(ctx, job, form, messages)
		usage.Add(answer.usage)
		var wrong error
		switch {
		case err == nil:
			if wrong = check(answer, form, read); wrong == nil {
				return usage, nil
			}
			var unanswerable *UnanswerableError
			if errors.As(wrong, &unanswerable) {
				return usage, wrong
			}
		case errors.Is(err, ErrNoAnswer) && ctx.Err() == nil:
			wrong = err
		default:
			return usage, c.caller.explain(ctx, err)
		}
		if last || form != nil && form.all && errors.Is(wrong, errTruncated) {
			return usage, c.caller.explain(ctx, fmt.Errorf("%w: %w", ErrNoAnswer, wrong))
		}
		messages = retryMessages(messages, answer.text, wrong)
	}
}

// check reads an answer. JSON that is whole is whole, but prose just ends.
func check(answer reply, form *shape, read func(string) error) error {
	err := read(answer.text)
	if answer.truncated && (err != nil || form == nil) {
		return errTruncated
	}
	return err
}

// ask calls the model. A provider that refuses a request for a stream and a
// shape is asked for neither, for a while: not all that speak like OpenAI know
// them, and the prompt has the schema too.
func (c *Chat) ask(ctx context.Context, job string, form *shape, messages []llms.MessageContent) (reply, error) {
	if until, plain := c.plainUntil.Load(job); !plain || time.Now().After(until.(time.Time)) {
		answer, err := c.caller.call(ctx, callOptions{shape: form, stream: true, idle: c.idle}, messages)
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

// plainFor is how long a provider that refused a form is asked without: it may
// have refused for another reason.
const plainFor = 10 * time.Minute

func isUnsupportedForm(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Code == http.StatusBadRequest || status.Code == http.StatusUnprocessableEntity)
}

// retryMessages gives the messages that ask once more, with what was wrong.
func retryMessages(messages []llms.MessageContent, text string, wrong error) []llms.MessageContent {
	messages = messages[:len(messages):len(messages)]
	if text = strings.TrimSpace(clean(text)); text != "" {
		messages = append(messages, llms.TextParts(llms.ChatMessageTypeAI, shorten(text, 8<<10)))
	} else {
		// Providers want people and models to take turns.
		messages = append(messages, llms.TextParts(llms.ChatMessageTypeAI, "(nothing)"))
	}
	return append(messages, llms.TextParts(llms.ChatMessageTypeHuman, fmt.Sprintf(
		"That cannot be used: %s. Do the same task again, in the form that was asked for.", shorten(clean(wrong.Error()), maxErrorText))))
}
