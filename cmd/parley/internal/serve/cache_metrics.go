package serve

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/storage/objects"
)

// registerCacheMetrics shows what a cache does; nil is for none.
func registerCacheMetrics(registry *prometheus.Registry, cache *objects.Cache) {
	if cache == nil {
		return
	}
	factory := promauto.With(registry)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "parley_cache_bytes",
		Help: "What the cached files of datasets take.",
	}, func() float64 { return float64(cache.Stats().Bytes) })
	for _, counter := range []struct {
		name, help string
		value      func(objects.CacheStats) int64
	}{
		{"parley_cache_hits_total", "Files of datasets that were in the cache when needed.", func(s objects.CacheStats) int64 { return s.Hits }},
		{"parley_cache_misses_total", "Files of datasets that had to be fetched.", func(s objects.CacheStats) int64 { return s.Misses }},
		{"parley_cache_evictions_total", "Cached files that went to make room for others.", func(s objects.CacheStats) int64 { return s.Evictions }},
		{"parley_cache_failures_total", "Files that were not what they should be, or could not be fetched or kept.", func(s objects.CacheStats) int64 { return s.Failures }},
	} {
		factory.NewCounterFunc(prometheus.CounterOpts{Name: counter.name, Help: counter.help},
			func() float64 { return float64(counter.value(cache.Stats())) })
	}
}
