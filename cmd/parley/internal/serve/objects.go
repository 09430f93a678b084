package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest"
	"parley/storage/datasets"
	"parley/storage/objects"
	"parley/storage/uploads"
)

// objectSettings say where uploads and the files of datasets are stored.
type objectSettings struct {
	Objects      string `placeholder:"URL" help:"A bucket (s3://bucket/prefix?endpoint=…&region=…&path_style=true) for uploads and datasets, instead of the data folder. Its keys are in the AWS_ variables."`
	UploadURLTTL string `name:"upload-url-ttl" default:"15m" placeholder:"DURATION" help:"How long the URLs of upload parts are valid (${default})."`
	MaxUpload    string `default:"5368709120" placeholder:"BYTES" help:"The largest file that can be uploaded, in bytes (${default})."`
	CacheSize    string `default:"10737418240" placeholder:"BYTES" help:"The size of the cache for datasets in a bucket, in bytes; it is in the data folder (${default})."`
}

// objectConfig is objectSettings, parsed.
type objectConfig struct {
	bucket               *objects.S3Config
	cacheSize, maxUpload int64
	uploadURLTTL         time.Duration
}

func (s objectSettings) read(c *command.Checker) objectConfig {
	cfg := objectConfig{
		cacheSize:    c.Bytes("cache-size", s.CacheSize),
		maxUpload:    c.Bytes("max-upload", s.MaxUpload),
		uploadURLTTL: c.Duration("upload-url-ttl", s.UploadURLTTL),
	}
	if s.Objects == "" {
		return cfg
	}
	bucket, problems := objects.ParseURL(s.Objects)
	for _, problem := range problems {
		c.Refuse("objects", "%s", problem)
	}
	bucket.AccessKey, bucket.SecretKey = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	bucket.SessionToken = os.Getenv("AWS_SESSION_TOKEN")
	if bucket.AccessKey == "" || bucket.SecretKey == "" {
		c.Refuse("objects", "needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	cfg.bucket = &bucket
	return cfg
}

func newUploads(cfg objectConfig, b base, files *objectStore) *uploads.Sessions {
	return uploads.New(uploads.Config{
		Records: b.store, Objects: files, Log: b.log, Now: b.store.Now,
		PartSize: 8 << 20, MaxFiles: 100, MaxSize: cfg.maxUpload, URLLife: cfg.uploadURLTTL, Stale: 24 * time.Hour,
	})
}

// datasetFiles are the methods of datasets.Objects that differ for a bucket and a folder.
type datasetFiles interface {
	Put(ctx context.Context, key, path string) error
	Hold(ctx context.Context, files []domain.DataFile) ([]string, func(), error)
	Ready(files []domain.DataFile) ([]string, func(), bool)
	Check(ctx context.Context, files []domain.DataFile) error
	Verify(ctx context.Context, files []domain.DataFile) error
	Compare(ctx context.Context, files []domain.DataFile) error
}

var _ datasets.Objects = (*objectStore)(nil)

// objectStore is a bucket or a folder of objects.
type objectStore struct {
	objects.Store
	datasetFiles
	// Of a folder; nil for a bucket: parts receives upload parts, partQueue counts them,
	// and path gives the file of an object.
	parts     func(w http.ResponseWriter, r *http.Request) error
	partQueue func() fair.Stats
	path      func(ctx context.Context, key string) (string, error)
	// Of a bucket; nil for a folder: cache has the files of datasets, and origin is
	// where clients send upload parts.
	cache  *objects.Cache
	origin func(ctx context.Context) (string, error)
	close  func() error
}

// openObjects opens the bucket, or the folder of objects in the data folder.
func openObjects(ctx context.Context, cfg config, b base) (*objectStore, error) {
	if cfg.objects.bucket != nil {
		return openBucket(cfg, b)
	}
	secret, err := b.store.SigningKey(ctx, domain.KeyForUploads)
	if err != nil {
		return nil, err
	}
	folder, err := objects.OpenFolder(objects.FolderConfig{Dir: filepath.Join(cfg.data, datadir.ObjectsDir), Secret: secret, BaseURL: baseurl.From, Now: now})
	if err != nil {
		return nil, err
	}
	return &objectStore{Store: folder, datasetFiles: objects.NewFolderFiles(folder), parts: folder.ServePart, partQueue: folder.QueueStats, path: folder.Path, close: folder.Close}, nil
}

func openBucket(cfg config, b base) (*objectStore, error) {
	bucket, err := objects.OpenS3(*cfg.objects.bucket)
	if err != nil {
		return nil, err
	}
	cache, err := objects.OpenCache(objects.CacheConfig{
		Store: bucket, Dir: filepath.Join(cfg.data, datadir.CacheDir), Size: cfg.objects.cacheSize, Log: b.log,
	})
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &objectStore{
		Store: bucket, datasetFiles: cache, cache: cache, origin: originOf(bucket),
		close: func() error { return errors.Join(cache.Close(), bucket.Close()) },
	}, nil
}

// originOf derives a bucket's origin from the URL of a part that is never sent.
func originOf(bucket *objects.S3) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		address, err := bucket.PartURL(ctx, "", objects.Upload{Key: "origin", ID: "origin"}, 1, 1, time.Minute)
		if err != nil {
			return "", err
		}
		u, err := url.Parse(address)
		if err != nil {
			return "", fmt.Errorf("read a part's address: %w", err)
		}
		return u.Scheme + "://" + u.Host, nil
	}
}

// This does not compile unless both have the same path.
var _ = map[bool]struct{}{false: {}, objects.PartPath == rest.PartPath: {}}

// Source implements datasets.Objects.
func (o *objectStore) Source(ctx context.Context, key, dir string) (string, error) {
	if o.path != nil {
		return o.path(ctx, key)
	}
	local := filepath.Join(dir, "source")
	return local, objects.Fetch(ctx, o.Store, key, local)
}

// Delete implements datasets.Objects.
func (o *objectStore) Delete(ctx context.Context, key string) error {
	if o.cache != nil {
		o.cache.Forget(key)
	}
	return o.Store.Delete(ctx, key)
}
