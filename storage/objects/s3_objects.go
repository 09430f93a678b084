package objects

import (
	"context"
	"io"

	"github.com/minio/minio-go/v7"
)

// putOptions sends a file in parts of 16 MiB, four at a time, and a smaller one in one
// piece. The client reads parts from the file as it sends them. Parts that it cannot
// remove after an error are swept.
var putOptions = minio.PutObjectOptions{PartSize: 16 << 20, NumThreads: 4}

// PutFile implements Store.
func (s *S3) PutFile(ctx context.Context, key, path string) error {
	if err := checkCall(ctx, key); err != nil {
		return err
	}
	file, size, err := openFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = s.core.Client.PutObject(ctx, s.cfg.Bucket, s.Name(key), file, size, putOptions)
	return s3failed(ctx, err, "write object %q", key)
}

// Open implements Store. The context is for reading too.
func (s *S3) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if err := checkCall(ctx, key); err != nil {
		return nil, 0, err
	}
	body, info, _, err := s.core.GetObject(ctx, s.cfg.Bucket, s.Name(key), minio.GetObjectOptions{})
	if isNoKey(err) {
		return nil, 0, notFound(key)
	}
	if err != nil {
		return nil, 0, s3failed(ctx, err, "open object %q", key)
	}
	return body, info.Size, nil
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, key string) error {
	if err := checkCall(ctx, key); err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	err := s.core.RemoveObject(ctx, s.cfg.Bucket, s.Name(key), minio.RemoveObjectOptions{})
	if isNoKey(err) {
		return nil
	}
	return s3failed(ctx, err, "delete object %q", key)
}
