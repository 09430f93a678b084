package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"parley/internal/fair"
	"parley/rest"
)

// newRegistry returns the metrics of the process itself; others are added to it.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return registry
}

// registerMetrics adds the metrics of what is asked when they are.
func registerMetrics(b base, data *dataPlane, reads *fair.Queue, handler *rest.Server) {
	registerCacheMetrics(b.registry, data.objects.cache)
	b.registry.MustRegister(loadMetrics{b.store, b.log}, poolMetrics{data.pool}, queueMetricsOf(data, reads, handler))
}
