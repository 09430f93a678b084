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
	"parley/storage/lake"
	"parley/storage/sqlstore"
	"parley/storage/uploads"
)

// pruneInterval is how often cached files are removed that no dataset has any more.
const pruneInterval = 10 * time.Minute

// rowJobs is how many places there are, besides those of ingestions, for rows that
// somebody waits for.
const rowJobs = 2

// lakeSettings bound queries and ingestions.
type lakeSettings struct {
	MaxRows        string `default:"1000" placeholder:"N" help:"The most rows of a result (${default})."`
	MaxResultBytes string `default:"1048576" placeholder:"BYTES" help:"The largest result (${default})."`
	QueryTimeout   string `default:"30s" placeholder:"DURATION" help:"How long a query may take (${default})."`
	MaxRowsBody    string `default:"16777216" placeholder:"BYTES" help:"The largest JSON body that holds rows (${default})."`
	Ingestions     string `default:"3" placeholder:"N" help:"How many ingestions run at once (${default}), of one user all but one of them where they are more than two."`
}

// lakeConfig is lakeSettings, read.
type lakeConfig struct {
	datasets    lake.DatasetsConfig
	maxRowsBody int64
}

func (s lakeSettings) read(c *command.Checker) lakeConfig {
	return lakeConfig{
		maxRowsBody: c.Bytes("max-rows-body", s.MaxRowsBody),
		datasets: lake.DatasetsConfig{
			MaxRows:    c.Count("max-rows", s.MaxRows),
			MaxBytes:   c.Bytes("max-result-bytes", s.MaxResultBytes),
			Timeout:    readQueryTimeout(c, s.QueryTimeout),
			Ingestions: c.Count("ingestions", s.Ingestions),
			Lease:      time.Minute,
		},
	}
}

// maxQueryTimeout is well below the time for which files that are no longer
// needed stay.
const maxQueryTimeout = 5 * time.Minute

func readQueryTimeout(c *command.Checker, text string) time.Duration {
	d := c.Duration("query-timeout", text)
	if d > maxQueryTimeout {
		c.Refuse("query-timeout", "must be at most %v, not %q", maxQueryTimeout, text)
	}
	return d
}

// dataPlane is what uploads, ingests and queries.
type dataPlane struct {
	objects  *objectStore
	uploads  *uploads.Sessions
	datasets *lake.Datasets
	pool     *lake.Pool
	log      *slog.Logger
	store    *sqlstore.Store
	stop     context.CancelFunc
	work     sync.WaitGroup
}

// openDataPlane opens the objects and datasets, and starts what works in the
// background.
func openDataPlane(ctx context.Context, cfg config, b base, models *llm.Models) (*dataPlane, error) {
	pool, err := lake.NewPool(lake.Config{Dir: filepath.Join(cfg.data, datadir.WorkDir), Log: b.log})
	if err != nil {
		return nil, err
	}
	files, err := openObjects(ctx, cfg, b)
	if err != nil {
		return nil, err
	}
	datasets, err := openDatasets(cfg, b, files, pool, models)
	if err != nil {
		return nil, errors.Join(err, files.close())
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &dataPlane{
		objects: files, uploads: newUploads(cfg.objects.uploads, b, files), datasets: datasets,
		pool: pool, log: b.log, store: b.store, stop: stop,
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

func openDatasets(cfg config, b base, files *objectStore, pool *lake.Pool, models *llm.Models) (*lake.Datasets, error) {
	rows := cfg.lake.datasets
	rows.Records, rows.Objects, rows.Pool, rows.Log = b.store, files, pool, b.log
	rows.Ingester = lake.NewIngester(lake.IngesterConfig{Jobs: rows.Ingestions + rowJobs, Log: b.log})
	rows.Dir = filepath.Join(cfg.data, datadir.WorkDir)
	rows.Extract = extractor(models)
	datasets, err := lake.NewDatasets(rows)
	if err != nil {
		return nil, err
	}
	return datasets, datasets.RemoveWork()
}

func newUploads(cfg uploads.Config, b base, files *objectStore) *uploads.Sessions {
	cfg.Records, cfg.Objects, cfg.Log, cfg.Now = b.store, files, b.log, b.store.Now
	return uploads.New(cfg)
}

// pruneCache removes cached files of datasets that were deleted or changed, now and
// then: another process may have done that.
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

// Close stops the work in the background, ingestions among it, which are taken
// up again by whoever comes next.
func (p *dataPlane) Close() error {
	p.stop()
	p.work.Wait()
	p.pool.Close()
	return p.objects.close()
}
