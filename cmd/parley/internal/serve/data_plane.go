package serve

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"parley/cmd/parley/internal/datadir"
	"parley/storage/datasets"
	"parley/storage/objects"
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
	stop     context.CancelFunc
	work     sync.WaitGroup
}

// openDataPlane opens the objects and datasets, and starts their background work.
func (s *server) openDataPlane(ctx context.Context) (*dataPlane, error) {
	pool, err := datasets.NewPool(datasets.PoolConfig{Dir: filepath.Join(s.Data, datadir.WorkDir), Log: s.log})
	if err != nil {
		return nil, err
	}
	files, err := s.openObjects(ctx)
	if err != nil {
		return nil, err
	}
	ingester := datasets.NewIngester(datasets.IngesterConfig{Jobs: s.Ingestions + rowJobs, Dir: filepath.Join(s.Data, datadir.WorkDir), Log: s.log})
	datasets, err := s.openDatasets(files, pool, ingester)
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &dataPlane{
		objects: files, uploads: s.newUploads(files), datasets: datasets,
		pool: pool, ingester: ingester, stop: stop,
	}
	cleanup := s.newRetention(p)
	p.work.Go(func() { datasets.RunIngestions(life) })
	p.work.Go(func() { cleanup.Run(life) })
	if files.cache != nil {
		p.work.Go(func() { s.pruneCache(life, files.cache) })
	}
	datasets.Wake()
	return p, nil
}

func (s *server) openDatasets(files *objectStore, pool *datasets.Pool, ingester *datasets.Ingester) (*datasets.Datasets, error) {
	datasets, err := datasets.NewDatasets(datasets.Config{
		Records:    s.store,
		Objects:    files.files,
		Pool:       pool,
		Ingester:   ingester,
		Dir:        filepath.Join(s.Data, datadir.WorkDir),
		Space:      s.files,
		Extract:    extractor(s.models),
		Log:        s.log,
		MaxRows:    s.MaxRows,
		MaxBytes:   maxResultBytes,
		Timeout:    s.QueryTimeout,
		Ingestions: s.Ingestions,
		Lease:      ingestionLease,
	})
	if err != nil {
		return nil, err
	}
	return datasets, datasets.RemoveWork()
}

// pruneCache removes cached files of datasets that another process deleted or changed.
func (s *server) pruneCache(ctx context.Context, cache *objects.Cache) {
	ticker := time.NewTicker(pruneInterval)
	defer ticker.Stop()
	for {
		unnamed, err := s.store.UnnamedObjects(ctx, cache.Keys())
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cleanup failed", "what", "cached files", "error", err)
		}
		for _, key := range unnamed {
			cache.Forget(key)
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
