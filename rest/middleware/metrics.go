package middleware

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics counts requests by route, never by path, since routes are few.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics(registry *prometheus.Registry) *metrics {
	factory := promauto.With(registry)
	return &metrics{
		requests: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "parley_http_requests_total",
			Help: "Requests answered.",
		}, []string{"method", "route", "status"}),
		duration: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "parley_http_request_duration_seconds",
			Help:    "How long answers took, but for streams.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
		inFlight: factory.NewGauge(prometheus.GaugeOpts{
			Name: "parley_http_requests_in_flight",
			Help: "Requests being answered now.",
		}),
	}
}

// answered counts a response. The duration of a stream is not observed: it depends on the
// client.
func (m *metrics) answered(method, route string, status int, took time.Duration, stream bool) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	if !stream {
		m.duration.WithLabelValues(method, route).Observe(took.Seconds())
	}
}
