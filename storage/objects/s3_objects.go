package objects

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"parley/storage"
)

const (
	// putPart is the size of the parts in which PutFile sends a file; a smaller file
	// goes in one piece.
	putPart = 16 << 20
	// putParts is how many of them are under way at a time.
	putParts = 4
)

// PutFile implements Store.
func (s *S3) PutFile(ctx context.Context, key, path string) (Object, error) {
	if err := validKey(key); err != nil {
		return Object{}, err
	}
	file, size, err := openFile(path)
	if err != nil {
		return Object{}, err
	}
	defer file.Close()
	if size <= putPart {
		_, err = s.core.PutObject(ctx, s.cfg.Bucket, s.name(key), io.NewSectionReader(file, 0, size), size, "", "", minio.PutObjectOptions{})
		if err != nil {
			return Object{}, s3failed(ctx, err, "write object %q", key)
		}
		return s.stat(ctx, key)
	}
	return s.putParts(ctx, key, file, Plan{Size: size, PartSize: max(putPart, (size-1)/MaxParts+1)})
}

// putParts sends a file as an upload of its own. No part is ever in memory whole.
func (s *S3) putParts(ctx context.Context, key string, file *os.File, plan Plan) (Object, error) {
	upload, err := s.Begin(ctx, key)
	if err != nil {
		return Object{}, err
	}
	parts := make([]Part, plan.Parts())
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(putParts)
	for i := range parts {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error {
			from := io.NewSectionReader(file, int64(i)*plan.PartSize, plan.Part(i+1))
			part, err := s.core.PutObjectPart(groupCtx, s.cfg.Bucket, s.name(key), upload.ID, i+1, from, from.Size(), minio.PutObjectPartOptions{})
			if err != nil {
				return s3failed(ctx, err, "write part %d of object %q", i+1, key)
			}
			parts[i] = Part{Number: i + 1, ETag: part.ETag}
			return nil
		})
	}
	err = group.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		object, completeErr := s.Complete(ctx, upload, plan, parts)
		if completeErr == nil {
			return object, nil
		}
		err = completeErr
	}
	// Whatever ended the caller's context, the parts are to go; those that stay are
	// swept.
	_ = s.Abort(context.WithoutCancel(ctx), upload)
	return Object{}, err
}

// Open implements Store. Its context is that of the reading too.
func (s *S3) Open(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	if err := validKey(key); err != nil {
		return nil, Object{}, err
	}
	body, info, _, err := s.core.GetObject(ctx, s.cfg.Bucket, s.name(key), minio.GetObjectOptions{})
	if isNoKey(err) {
		return nil, Object{}, notFound(key)
	}
	if err != nil {
		return nil, Object{}, s3failed(ctx, err, "open object %q", key)
	}
	object := s.object(info)
	object.Key = key
	return &s3Reader{ctx: ctx, body: body, key: key, left: object.Size}, object, nil
}

// s3Reader reads an object, and takes the end of the connection for the end of the
// object only when it is.
type s3Reader struct {
	ctx  context.Context
	body io.ReadCloser
	key  string
	left int64
}

func (r *s3Reader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.left -= int64(n)
	switch {
	case err == nil || err == io.EOF && r.left == 0:
		return n, err
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, failed(r.ctx, err, "read object %q", r.key)
}

func (r *s3Reader) Close() error { return r.body.Close() }

// Fetch implements Store.
func (s *S3) Fetch(ctx context.Context, key, path string) error {
	body, object, err := s.Open(ctx, key)
	if err != nil {
		return err
	}
	defer body.Close()
	return fetch(ctx, object, body, path)
}

// Delete implements Store.
func (s *S3) Delete(ctx context.Context, key string) error {
	if err := validKey(key); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	err := s.core.RemoveObject(ctx, s.cfg.Bucket, s.name(key), minio.RemoveObjectOptions{})
	if err != nil && !isNoKey(err) {
		return s3failed(ctx, err, "delete object %q", key)
	}
	return nil
}

// List implements Store. It has a page of the server's list in memory at a time.
func (s *S3) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if problem := checkPrefix(prefix); problem != "" {
			yield(Object{}, storage.Errorf(storage.ErrInvalid, "the prefix %s", problem))
			return
		}
		for info := range s.core.ListObjectsIter(ctx, s.cfg.Bucket, minio.ListObjectsOptions{Prefix: s.prefix + prefix, Recursive: true}) {
			if info.Err != nil {
				yield(Object{}, s3failed(ctx, info.Err, "list the objects in %q", prefix))
				return
			}
			// Some tools make such things for folders.
			if strings.HasSuffix(info.Key, "/") {
				continue
			}
			if !yield(s.object(info), nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(Object{}, fmt.Errorf("list the objects in %q: %w", prefix, context.Cause(ctx)))
		}
	}
}

func (s *S3) stat(ctx context.Context, key string) (Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	info, err := s.core.StatObject(ctx, s.cfg.Bucket, s.name(key), minio.StatObjectOptions{})
	if isNoKey(err) {
		return Object{}, notFound(key)
	}
	if err != nil {
		return Object{}, s3failed(ctx, err, "look at object %q", key)
	}
	return s.object(info), nil
}

func (s *S3) object(info minio.ObjectInfo) Object {
	return Object{
		Key:      strings.TrimPrefix(info.Key, s.prefix),
		Size:     info.Size,
		ETag:     normalETag(info.ETag),
		Modified: info.LastModified,
	}
}
