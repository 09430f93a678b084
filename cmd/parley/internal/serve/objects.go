package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"parley/cmd/parley/internal/datadir"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest"
	"parley/storage/datasets"
	"parley/storage/objects"
	"parley/storage/uploads"
)

func (s *server) newUploads(files *objectStore) *uploads.Sessions {
	return uploads.New(uploads.Config{
		Records: s.store, Objects: files.Store, Space: s.files, Log: s.log, Now: s.store.Now,
		PartSize: 8 << 20, MaxFiles: 100, MaxSize: s.MaxUpload, URLLife: 15 * time.Minute, Stale: 24 * time.Hour,
	})
}

// objectStore is a bucket or a folder of objects.
type objectStore struct {
	objects.Store
	// files are the files of datasets in it.
	files datasets.Objects
	// Of a folder; nil for a bucket: parts receives upload parts, partQueue counts them.
	parts     func(w http.ResponseWriter, r *http.Request) error
	partQueue func() fair.Stats
	// Of a bucket; nil for a folder: cache has the files of datasets, and origin is
	// where clients send upload parts.
	cache  *objects.Cache
	origin func(ctx context.Context) (string, error)
	close  func() error
}

// openObjects opens the bucket, or the folder of objects in the data folder.
func (s *server) openObjects(ctx context.Context) (*objectStore, error) {
	if s.Objects != "" {
		return s.openBucket()
	}
	secret, err := s.store.SigningKey(ctx, domain.KeyForUploads)
	if err != nil {
		return nil, err
	}
	folder, err := objects.OpenFolder(objects.FolderConfig{Dir: filepath.Join(s.Data, datadir.ObjectsDir), Secret: secret, BaseURL: baseurl.From, Now: now})
	if err != nil {
		return nil, err
	}
	return &objectStore{Store: folder, files: objects.NewFolderFiles(folder), parts: folder.ServePart, partQueue: folder.QueueStats, close: folder.Close}, nil
}

func (s *server) openBucket() (*objectStore, error) {
	where, _ := s.bucket()
	bucket, err := objects.OpenS3(where)
	if err != nil {
		return nil, err
	}
	cache, err := objects.OpenCache(objects.CacheConfig{
		Store: bucket, Dir: filepath.Join(s.Data, datadir.CacheDir), Size: s.CacheSize, Log: s.log,
	})
	if err != nil {
		return nil, errors.Join(err, bucket.Close())
	}
	return &objectStore{
		Store: bucket, files: cache, cache: cache, origin: originOf(bucket),
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
