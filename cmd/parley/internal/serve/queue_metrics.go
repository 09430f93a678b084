package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"parley/internal/fair"
	"parley/rest"
)

// queueMetrics shows, whenever it is asked, the queues in which users take turns.
type queueMetrics map[string]func() fair.Stats

// queueMetricsOf returns the metrics of a server's queues; questions and queries have
// their own.
func queueMetricsOf(data *dataPlane, reads *fair.Queue, handler *rest.Server) queueMetrics {
	queues := queueMetrics{
		"large_requests": func() fair.Stats { large, _ := handler.QueueStats(); return large },
		"inferences":     func() fair.Stats { _, infer := handler.QueueStats(); return infer },
		"files":          data.datasets.IngestStats,
		"answer_bytes":   reads.Stats,
	}
	if data.objects.turns != nil {
		queues["parts"] = data.objects.turns
	}
	return queues
}

var (
	turnsTaken   = prometheus.NewDesc("parley_turns", "Parts of uploads, large requests, inferences, and files to be made, that have their user's turn or wait for it.", []string{"what", "state"}, nil)
	turnsRefused = prometheus.NewDesc("parley_turns_refused_total", "Those that found no place to wait, or waited too long.", []string{"what"}, nil)
)

// Describe implements prometheus.Collector.
func (queueMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- turnsTaken
	descs <- turnsRefused
}

// Collect implements prometheus.Collector.
func (m queueMetrics) Collect(metrics chan<- prometheus.Metric) {
	for what, stats := range m {
		now := stats()
		metrics <- prometheus.MustNewConstMetric(turnsTaken, prometheus.GaugeValue, float64(now.Running), what, "running")
		metrics <- prometheus.MustNewConstMetric(turnsTaken, prometheus.GaugeValue, float64(now.Waiting), what, "waiting")
		metrics <- prometheus.MustNewConstMetric(turnsRefused, prometheus.CounterValue, float64(now.Refused), what)
	}
}
