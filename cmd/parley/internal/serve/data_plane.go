package serve

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/llm"
	"parley/storage/datasets"
	"parley/storage/sqlstore"
	"parley/storage/uploads"
)

const (
	// pruneInterval is how often cached files that no dataset has any more are removed.
	pruneInterval = 10 * time.Minute
	// rowJobs is how many ingest workers, besides those of ingestions, are for rows in
	// requests.
	rowJobs = 2
	// ingestionLease is how long an ingestion of a dead process waits for another one.
	ingestionLease = time.Minute
	// maxQueryTimeout is well below the time for which unused files stay.
	maxQueryTimeout = 5 * time.Minute
)

// lakeSettings limit queries and ingestions.
type lakeSettings struct {
	MaxRows        string `default:"1000" placeholder:"N" help:"The maximum number of rows in a result (${default})."`
	MaxResultBytes string `default:"1048576" placeholder:"BYTES" help:"The largest result in bytes (${default})."`
	QueryTimeout   string `default:"30s" placeholder:"DURATION" help:"How long a query may take (${default})."`
	MaxRowsBody    string `default:"16777216" placeholder:"BYTES" help:"The largest JSON body with rows, in bytes (${default})."`
	Ingestions     string `default:"3" placeholder:"N" help:"How many ingestions run at once (${default}). If it is more than two, one user gets all but one."`
}

// lakeConfig is lakeSettings, parsed.
type lakeConfig struct {
	maxRows, ingestions         int
	maxResultBytes, maxRowsBody int64
	queryTimeout                time.Duration
}

func (s lakeSettings) read(c *command.Checker) lakeConfig {
	cfg := lakeConfig{
		maxRows:        c.Count("max-rows", s.MaxRows),
		maxResultBytes: c.Bytes("max-result-bytes", s.MaxResultBytes),
		queryTimeout:   c.Duration("query-timeout", s.QueryTimeout),
		maxRowsBody:    c.Bytes("max-rows-body", s.MaxRowsBody),
		ingestions:     c.Count("ingestions", s.Ingestions),
	}
	if cfg.queryTimeout > maxQueryTimeout {
		c.Refuse("query-timeout", "must be at most %v, not %q", maxQueryTimeout, s.QueryTimeout)
	}
	return cfg
}

// dataPlane has the uploads, ingestions and queries.
type dataPlane struct {
	objects  *objectStore
	uploads  *uploads.Sessions
	datasets *datasets.Datasets
	pool     *datasets.Pool
	ingester *datasets.Ingester
	log      *slog.Logger
	store    *sqlstore.Store
	stop     context.CancelFunc
	work     sync.WaitGroup
}

// openDataPlane opens the objects and datasets, and starts their background work.
func openDataPlane(ctx context.Context, cfg config, b base, models *llm.Models) (*dataPlane, error) {
	pool, err := datasets.NewPool(datasets.Config{Dir: filepath.Join(cfg.data, datadir.WorkDir), Log: b.log})
	if err != nil {
		return nil, err
	}
	files, err := openObjects(ctx, cfg, b)
	if err != nil {
		return nil, err
	}
	ingester := datasets.NewIngester(datasets.IngesterConfig{Jobs: cfg.lake.ingestions + rowJobs, Dir: filepath.Join(cfg.data, datadir.WorkDir), Log: b.log})
	datasets, err := openDatasets(cfg, b, files, pool, ingester, models)
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &dataPlane{
		objects: files, uploads: newUploads(cfg.objects, b, files), datasets: datasets,
		pool: pool, ingester: ingester, log: b.log, store: b.store, stop: stop,
	}
	cleanup := newRetention(cfg.retention, b, p)
	p.work.Go(func() { datasets.RunIngestions(life) })
	p.work.Go(func() { cleanup.Run(life) })
	if files.cache != nil {
		p.work.Go(func() { p.pruneCache(life) })
	}
	datasets.Wake()
	return p, nil
}

func openDatasets(cfg config, b base, files *objectStore, pool *datasets.Pool, ingester *datasets.Ingester, models *llm.Models) (*datasets.Datasets, error) {
	datasets, err := datasets.NewDatasets(datasets.DatasetsConfig{
		Records:    b.store,
		Objects:    files,
		Pool:       pool,
		Ingester:   ingester,
		Dir:        filepath.Join(cfg.data, datadir.WorkDir),
		Extract:    extractor(models),
		Log:        b.log,
		MaxRows:    cfg.lake.maxRows,
		MaxBytes:   cfg.lake.maxResultBytes,
		Timeout:    cfg.lake.queryTimeout,
		Ingestions: cfg.lake.ingestions,
		Lease:      ingestionLease,
	})
	if err != nil {
		return nil, err
	}
	return datasets, datasets.RemoveWork()
}

// pruneCache removes cached files of datasets that another process deleted or changed.
func (p *dataPlane) pruneCache(ctx context.Context) {
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		unnamed, err := p.store.UnnamedObjects(ctx, p.objects.cache.Keys())
		if err != nil && ctx.Err() == nil {
			p.log.Warn("cleanup failed", "what", "cached files", "error", err)
		}
		for _, key := range unnamed {
			p.objects.cache.Forget(key)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Close stops the background work. Another process resumes the ingestions.
func (p *dataPlane) Close() error {
	p.stop()
	p.work.Wait()
	p.pool.Close()
	p.ingester.Close()
	return p.objects.close()
}
