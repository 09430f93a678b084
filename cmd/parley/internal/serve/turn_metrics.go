package serve

import (
	"github.com/prometheus/client_golang/prometheus"

	"parley/internal/fair"
	"parley/rest"
)

// turnMetrics shows, whenever it is asked, what users take turns at.
type turnMetrics map[string]func() fair.Stats

// turnsOf are the turns at what a server does; questions and queries have metrics of
// their own.
func turnsOf(server *rest.Server, plane *dataPlane) turnMetrics {
	turns := turnMetrics{
		"large_requests": func() fair.Stats { large, _ := server.Turns(); return large },
		"inferences":     func() fair.Stats { _, infer := server.Turns(); return infer },
		"files":          plane.datasets.Maker.Turns,
		"answer_bytes":   server.Reads.Stats,
	}
	if plane.objects.turns != nil {
		turns["parts"] = plane.objects.turns
	}
	return turns
}

var (
	turnsTaken   = prometheus.NewDesc("parley_turns", "Parts of uploads, large requests, inferences, and files to be made, that have their user's turn or wait for it.", []string{"what", "state"}, nil)
	turnsRefused = prometheus.NewDesc("parley_turns_refused_total", "Those that found no place to wait, or waited too long.", []string{"what"}, nil)
)

// Describe implements prometheus.Collector.
func (turnMetrics) Describe(descs chan<- *prometheus.Desc) {
	descs <- turnsTaken
	descs <- turnsRefused
}

// Collect implements prometheus.Collector.
func (m turnMetrics) Collect(metrics chan<- prometheus.Metric) {
	for what, stats := range m {
		now := stats()
		metrics <- prometheus.MustNewConstMetric(turnsTaken, prometheus.GaugeValue, float64(now.Running), what, "running")
		metrics <- prometheus.MustNewConstMetric(turnsTaken, prometheus.GaugeValue, float64(now.Waiting), what, "waiting")
		metrics <- prometheus.MustNewConstMetric(turnsRefused, prometheus.CounterValue, float64(now.Refused), what)
	}
}
