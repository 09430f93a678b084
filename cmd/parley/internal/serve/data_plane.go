package serve

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

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
	// maxResultBytes is the largest result.
	maxResultBytes = 1 << 20
)

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
func openDataPlane(ctx context.Context, cfg *Command, b base, models *llm.Models) (*dataPlane, error) {
	pool, err := datasets.NewPool(datasets.Config{Dir: filepath.Join(cfg.Data, datadir.WorkDir), Log: b.log})
	if err != nil {
		return nil, err
	}
	files, err := openObjects(ctx, cfg, b)
	if err != nil {
		return nil, err
	}
	ingester := datasets.NewIngester(datasets.IngesterConfig{Jobs: cfg.Ingestions + rowJobs, Dir: filepath.Join(cfg.Data, datadir.WorkDir), Log: b.log})
	datasets, err := openDatasets(cfg, b, files, pool, ingester, models)
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &dataPlane{
		objects: files, uploads: newUploads(cfg, b, files), datasets: datasets,
		pool: pool, ingester: ingester, log: b.log, store: b.store, stop: stop,
	}
	cleanup := newRetention(cfg, b, p)
	p.work.Go(func() { datasets.RunIngestions(life) })
	p.work.Go(func() { cleanup.Run(life) })
	if files.cache != nil {
		p.work.Go(func() { p.pruneCache(life) })
	}
	datasets.Wake()
	return p, nil
}

func openDatasets(cfg *Command, b base, files *objectStore, pool *datasets.Pool, ingester *datasets.Ingester, models *llm.Models) (*datasets.Datasets, error) {
	datasets, err := datasets.NewDatasets(datasets.DatasetsConfig{
		Records:    b.store,
		Objects:    files,
		Pool:       pool,
		Ingester:   ingester,
		Dir:        filepath.Join(cfg.Data, datadir.WorkDir),
		Extract:    extractor(models),
		Log:        b.log,
		MaxRows:    cfg.MaxRows,
		MaxBytes:   maxResultBytes,
		Timeout:    cfg.QueryTimeout,
		Ingestions: cfg.Ingestions,
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
