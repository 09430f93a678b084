package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/singleflight"

	"parley/internal/baseurl"
	"parley/rest"
	"parley/storage"
	"parley/storage/objects"
	"parley/storage/sqlstore"
)

// objectSettings say where uploaded bytes and datasets' files are.
type objectSettings struct {
	Objects      string `placeholder:"URL" help:"A bucket (s3://bucket/prefix?endpoint=…&region=…&path_style=true) for uploads and datasets, instead of the data folder. Its keys are in the AWS_ variables."`
	UploadURLTTL string `name:"upload-url-ttl" default:"15m" placeholder:"DURATION" help:"How long the parts of an upload can be sent (${default})."`
	MaxUpload    string `default:"5368709120" placeholder:"BYTES" help:"The largest file that can be uploaded (${default})."`
}

// objectConfig is objectSettings, read.
type objectConfig struct {
	bucket  *objects.S3Config
	uploads objects.UploadsConfig
}

func (s objectSettings) read(c *checker) objectConfig {
	cfg := objectConfig{uploads: objects.UploadsConfig{
		PartSize: 8 << 20,
		MaxFiles: 100,
		MaxSize:  c.bytes("max-upload", s.MaxUpload),
		URLLife:  c.duration("upload-url-ttl", s.UploadURLTTL),
		Stale:    24 * time.Hour,
	}}
	if s.Objects == "" {
		return cfg
	}
	bucket, problems := objects.ParseURL(s.Objects)
	for _, problem := range problems {
		c.refuse("objects", "%s", problem)
	}
	bucket.AccessKey, bucket.SecretKey = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	bucket.SessionToken = os.Getenv("AWS_SESSION_TOKEN")
	if bucket.AccessKey == "" || bucket.SecretKey == "" {
		c.refuse("objects", "needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	cfg.bucket = &bucket
	return cfg
}

// objectStore is the objects with what only one of their homes has.
type objectStore struct {
	objects.Store
	// parts takes the parts of uploads; nil where they go to the bucket.
	parts func(w http.ResponseWriter, r *http.Request) error
	// path gives the file that an object is; nil where it must be fetched, to
	// cache.
	path func(ctx context.Context, key string) (string, error)
	// origin gives the bucket's, which clients send parts to; nil where they come
	// here.
	origin   func(ctx context.Context) (string, error)
	cache    string
	fetching singleflight.Group
	close    func() error
}

// openObjects opens the bucket, or the folder of objects in the data folder.
func openObjects(ctx context.Context, cfg objectConfig, data string, store *sqlstore.Store) (*objectStore, error) {
	if cfg.bucket != nil {
		bucket, err := objects.OpenS3(*cfg.bucket)
		if err != nil {
			return nil, err
		}
		cache := filepath.Join(data, "cache")
		if err := os.MkdirAll(cache, 0o755); err != nil {
			return nil, fmt.Errorf("make the cache folder: %w", err)
		}
		return &objectStore{Store: bucket, cache: cache, origin: originOf(bucket), close: bucket.Close}, nil
	}
	secret, err := store.SigningKey(ctx, storage.KeyForUploads)
	if err != nil {
		return nil, err
	}
	folder, err := objects.OpenFolder(objects.FolderConfig{Dir: filepath.Join(data, "objects"), Secret: secret, BaseURL: baseurl.From})
	if err != nil {
		return nil, err
	}
	return &objectStore{Store: folder, parts: receiveParts(folder), path: folder.Path, close: folder.Close}, nil
}

// originOf finds where a bucket takes parts by the address of one that is never
// sent.
func originOf(bucket *objects.S3) func(ctx context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		address, err := bucket.PartURL(ctx, objects.Upload{Key: "origin", ID: "origin"}, 1, 1, time.Minute)
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

func receiveParts(folder *objects.Folder) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) (err error) {
		folder.Handler(func(_ http.ResponseWriter, _ *http.Request, failure error) { err = failure }).ServeHTTP(w, r)
		return err
	}
}

// Put implements lake.Objects.
func (o *objectStore) Put(ctx context.Context, key, path string) error {
	_, err := o.PutFile(ctx, key, path)
	return err
}

// Local implements lake.Objects. A fetched object stays, for objects do not
// change, until it is deleted.
func (o *objectStore) Local(ctx context.Context, key string) (string, error) {
	if o.path != nil {
		return o.path(ctx, key)
	}
	local := filepath.Join(o.cache, filepath.FromSlash(key))
	if _, err := os.Stat(local); err == nil {
		return local, nil
	}
	// Many who ask at once share one fetch, which none of them can cut short.
	_, err, _ := o.fetching.Do(key, func() (any, error) { return nil, o.fetch(context.WithoutCancel(ctx), key, local) })
	return local, err
}

// fetch puts an object in the cache, whole and open to workers, which may be
// somebody else, or not at all.
func (o *objectStore) fetch(ctx context.Context, key, local string) error {
	if err := os.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return fmt.Errorf("make a cache folder: %w", err)
	}
	fetched := local + ".fetched"
	if err := o.Fetch(ctx, key, fetched); err != nil {
		return err
	}
	if err := os.Chmod(fetched, 0o444); err != nil {
		return fmt.Errorf("open a cached file up: %w", err)
	}
	if err := os.Rename(fetched, local); err != nil {
		return fmt.Errorf("keep a cached file: %w", err)
	}
	return nil
}

// Source implements lake.Objects.
func (o *objectStore) Source(ctx context.Context, key, dir string) (string, error) {
	if o.path != nil {
		return o.path(ctx, key)
	}
	local := filepath.Join(dir, "source")
	return local, o.Fetch(ctx, key, local)
}

// Delete implements lake.Objects.
func (o *objectStore) Delete(ctx context.Context, key string) error {
	if o.cache != "" {
		if err := os.Remove(filepath.Join(o.cache, filepath.FromSlash(key))); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove a cached file: %w", err)
		}
	}
	return o.Store.Delete(ctx, key)
}
