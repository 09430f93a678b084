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
	"parley/internal/fair"
	"parley/rest"
	"parley/storage"
	"parley/storage/objects"
	"parley/storage/uploads"
)

// objectSettings say where uploaded bytes and datasets' files are.
type objectSettings struct {
	Objects      string `placeholder:"URL" help:"A bucket (s3://bucket/prefix?endpoint=…&region=…&path_style=true) for uploads and datasets, instead of the data folder. Its keys are in the AWS_ variables."`
	UploadURLTTL string `name:"upload-url-ttl" default:"15m" placeholder:"DURATION" help:"How long the parts of an upload can be sent (${default})."`
	MaxUpload    string `default:"5368709120" placeholder:"BYTES" help:"The largest file that can be uploaded (${default})."`
	CacheSize    string `default:"10737418240" placeholder:"BYTES" help:"How much of the datasets in a bucket is kept in the data folder, where queries read it (${default})."`
}

// objectConfig is objectSettings, read.
type objectConfig struct {
	bucket    *objects.S3Config
	cacheSize int64
	uploads   uploads.Config
}

func (s objectSettings) read(c *command.Checker) objectConfig {
	cfg := objectConfig{cacheSize: c.Bytes("cache-size", s.CacheSize), uploads: uploads.Config{
		PartSize: 8 << 20,
		MaxFiles: 100,
		MaxSize:  c.Bytes("max-upload", s.MaxUpload),
		URLLife:  c.Duration("upload-url-ttl", s.UploadURLTTL),
		Stale:    24 * time.Hour,
	}}
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

// objectStore is the objects with what only one of their homes has.
type objectStore struct {
	objects.Store
	// parts takes the parts of uploads; nil where they go to the bucket.
	parts func(w http.ResponseWriter, r *http.Request) error
	// turns says how many of them come in, or wait for that; nil with parts.
	turns func() fair.Stats
	// path gives the file that an object is; nil where there is a bucket, whose
	// datasets cache keeps.
	path  func(ctx context.Context, key string) (string, error)
	cache *objects.Cache
	// origin gives the bucket's, which clients send parts to; nil where they come
	// here.
	origin func(ctx context.Context) (string, error)
	close  func() error
}

// openObjects opens the bucket, or the folder of objects in the data folder.
func openObjects(ctx context.Context, cfg config, b base) (*objectStore, error) {
	if cfg.objects.bucket != nil {
		return openBucket(cfg, b)
	}
	secret, err := b.store.SigningKey(ctx, storage.KeyForUploads)
	if err != nil {
		return nil, err
	}
	folder, err := objects.OpenFolder(objects.FolderConfig{Dir: filepath.Join(cfg.data, datadir.ObjectsDir), Secret: secret, BaseURL: baseurl.From, Now: now})
	if err != nil {
		return nil, err
	}
	return &objectStore{Store: folder, parts: folder.ServePart, turns: folder.QueueStats, path: folder.Path, close: folder.Close}, nil
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
		Store: bucket, cache: cache, origin: originOf(bucket),
		close: func() error { return errors.Join(cache.Close(), bucket.Close()) },
	}, nil
}

// originOf finds where a bucket takes parts by the address of one that is never
// sent.
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

var _ = map[bool]struct{}{false: {}, objects.PartPath == rest.PartPath: {}} // they are one address

// Put implements lake.Objects.
func (o *objectStore) Put(ctx context.Context, key, path string) error {
	return o.PutFile(ctx, key, path)
}

// Hold implements lake.Objects.
func (o *objectStore) Hold(ctx context.Context, files []storage.DataFile) ([]string, func(), error) {
	if o.cache != nil {
		return o.cache.Hold(ctx, files)
	}
	paths := make([]string, len(files))
	for i, file := range files {
		var err error
		if paths[i], err = o.path(ctx, file.Key); err != nil {
			return nil, nil, err
		}
	}
	return paths, func() {}, nil
}

// Ready implements lake.Objects.
func (o *objectStore) Ready(files []storage.DataFile) ([]string, func(), bool) {
	if o.cache != nil {
		return o.cache.Ready(files)
	}
	paths, release, err := o.Hold(context.Background(), files)
	return paths, release, err == nil
}

// Source implements lake.Objects.
func (o *objectStore) Source(ctx context.Context, key, dir string) (string, error) {
	if o.path != nil {
		return o.path(ctx, key)
	}
	local := filepath.Join(dir, "source")
	return local, objects.Fetch(ctx, o.Store, key, local)
}

// Delete implements lake.Objects.
func (o *objectStore) Delete(ctx context.Context, key string) error {
	if o.cache != nil {
		o.cache.Forget(key)
	}
	return o.Store.Delete(ctx, key)
}
