package serve

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/llm"
)

// observeJobs returns what counts the jobs of language models. All labels have few values.
func observeJobs(registry *prometheus.Registry) func(llm.JobDone) {
	factory := promauto.With(registry)
	calls := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "parley_llm_calls_total",
		Help: "Jobs that language models were asked to do.",
	}, []string{"model", "job", "outcome"})
	tokens := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "parley_llm_tokens_total",
		Help: "Tokens that language models read (input) and wrote (output).",
	}, []string{"model", "kind"})
	duration := factory.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "parley_llm_call_duration_seconds",
		Help:    "How long language models took for a job, tries and waiting included.",
		Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320},
	}, []string{"model", "job"})
	return func(done llm.JobDone) {
		model := done.Usage.Model
		calls.WithLabelValues(model, done.Job, outcomeOf(done.Err)).Inc()
		tokens.WithLabelValues(model, "input").Add(float64(done.Usage.InputTokens))
		tokens.WithLabelValues(model, "output").Add(float64(done.Usage.OutputTokens))
		duration.WithLabelValues(model, done.Job).Observe(done.Duration.Seconds())
	}
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, llm.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, llm.ErrNoAnswer):
		return "no_answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "failed"
}
