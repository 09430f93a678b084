package objects

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"parley/storage"
)

// maxTTL is the longest that S3 lets an address live.
const maxTTL = 7 * 24 * time.Hour

// Begin implements Store.
func (s *S3) Begin(ctx context.Context, key string) (Upload, error) {
	if err := validKey(key); err != nil {
		return Upload{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	id, err := s.core.NewMultipartUpload(ctx, s.cfg.Bucket, s.name(key), minio.PutObjectOptions{})
	if err != nil {
		return Upload{}, s3failed(ctx, err, "begin an upload to %q", key)
	}
	return Upload{Key: key, ID: id}, nil
}

// PartURL implements Store. The part's size is signed as the header Content-Length,
// which clients send by themselves.
func (s *S3) PartURL(ctx context.Context, _ string, upload Upload, number int, size int64, ttl time.Duration) (string, error) {
	if err := checkPart(upload, number, size, ttl); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	seconds := (min(ttl, maxTTL) + time.Second - 1).Truncate(time.Second)
	u, err := s.public.PresignHeader(ctx, http.MethodPut, s.cfg.Bucket, s.name(upload.Key), seconds,
		url.Values{"uploadId": {upload.ID}, "partNumber": {strconv.Itoa(number)}},
		http.Header{"Content-Length": {strconv.FormatInt(size, 10)}})
	if err != nil {
		return "", s3failed(ctx, err, "sign an address for part %d of %q", number, upload.Key)
	}
	return u.String(), nil
}

// Complete implements Store. It remembers an upload for as long as the object is
// there, if the server's ETags are MD5s.
func (s *S3) Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) (Object, error) {
	if err := checkUpload(upload); err != nil {
		return Object{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, joinTimeout, errTooLong)
	defer cancel()
	// While a server joins the parts, it may know neither the upload any more nor
	// the object yet.
	unlock, err := s.locks.lock(ctx, upload.ID)
	if err != nil {
		return Object{}, err
	}
	defer unlock()
	stored, err := s.storedParts(ctx, upload)
	if isNoUpload(err) {
		return s.completed(ctx, upload, plan, parts)
	}
	if err != nil {
		return Object{}, s3failed(ctx, err, "look at the parts of %q", upload.Key)
	}
	// A server may not hold clients to the size that was signed: this does.
	etags, err := checkParts(plan, parts, stored)
	if err != nil {
		return Object{}, err
	}
	list := make([]minio.CompletePart, len(etags))
	for i, etag := range etags {
		list[i] = minio.CompletePart{PartNumber: i + 1, ETag: etag}
	}
	_, err = s.core.CompleteMultipartUpload(ctx, s.cfg.Bucket, s.name(upload.Key), upload.ID, list, minio.PutObjectOptions{})
	if err != nil {
		return s.notCompleted(ctx, err, upload, plan, parts)
	}
	return s.stat(ctx, upload.Key)
}

// notCompleted says why an upload with the right parts was not completed, unless it
// was: another call, or a first attempt whose answer was lost, may have been faster.
func (s *S3) notCompleted(ctx context.Context, err error, upload Upload, plan Plan, parts []Part) (Object, error) {
	switch code := minio.ToErrorResponse(err).Code; code {
	case minio.NoSuchUpload:
		return s.completed(ctx, upload, plan, parts)
	case minio.InvalidPart, minio.InvalidPartOrder:
		if object, err := s.completed(ctx, upload, plan, parts); err == nil {
			return object, nil
		}
		return Object{}, storage.Errorf(storage.ErrInvalid, "a part has just been sent again")
	case minio.EntityTooSmall:
		return Object{}, storage.Errorf(storage.ErrInvalid, "the parts of %d bytes are smaller than the store takes", plan.PartSize)
	}
	return Object{}, s3failed(ctx, err, "complete the upload to %q", upload.Key)
}

// completed gives the object that the parts have been made before.
func (s *S3) completed(ctx context.Context, upload Upload, plan Plan, parts []Part) (Object, error) {
	etags := orderedETags(plan, parts)
	if etags == nil {
		return Object{}, noUpload()
	}
	info, err := s.core.StatObject(ctx, s.cfg.Bucket, s.name(upload.Key), minio.StatObjectOptions{})
	switch {
	case isNoKey(err):
		return Object{}, noUpload()
	case err != nil:
		return Object{}, s3failed(ctx, err, "look whether the upload to %q is complete", upload.Key)
	case info.Size != plan.Size || normalETag(info.ETag) != wholeETag(etags):
		return Object{}, noUpload()
	}
	return s.object(info), nil
}

// Stored implements Store.
func (s *S3) Stored(ctx context.Context, upload Upload, plan Plan) ([]Part, error) {
	if err := checkUpload(upload); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	stored, err := s.storedParts(ctx, upload)
	switch {
	case isNoUpload(err):
		return nil, noUpload()
	case err != nil:
		return nil, s3failed(ctx, err, "look at the parts of %q", upload.Key)
	}
	return inPlan(plan, stored), nil
}

// storedParts gives the parts that have come in. Its error is the server's.
func (s *S3) storedParts(ctx context.Context, upload Upload) (map[int]storedPart, error) {
	stored := map[int]storedPart{}
	for marker := 0; ; {
		page, err := s.core.ListObjectParts(ctx, s.cfg.Bucket, s.name(upload.Key), upload.ID, marker, 1000)
		if err != nil {
			return nil, err
		}
		for _, part := range page.ObjectParts {
			stored[part.PartNumber] = storedPart{etag: normalETag(part.ETag), size: part.Size}
		}
		if !page.IsTruncated {
			return stored, nil
		}
		if page.NextPartNumberMarker <= marker {
			return nil, fmt.Errorf("the server's list of parts does not go on after part %d", marker)
		}
		marker = page.NextPartNumberMarker
	}
}

// Abort implements Store.
func (s *S3) Abort(ctx context.Context, upload Upload) error {
	if checkUpload(upload) != nil {
		return nil // there cannot be such an upload
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	err := s.core.AbortMultipartUpload(ctx, s.cfg.Bucket, s.name(upload.Key), upload.ID)
	if err != nil && !isNoUpload(err) {
		return s3failed(ctx, err, "abort the upload to %q", upload.Key)
	}
	return nil
}

// Sweep implements Store: uploads that were begun before, PutFile's among them. All
// that is under the prefix, or in the bucket where there is none, is taken for ours.
func (s *S3) Sweep(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	for keyMarker, idMarker := "", ""; ; {
		page, err := s.listUploads(ctx, keyMarker, idMarker)
		if err != nil {
			return removed, s3failed(ctx, err, "look for stale uploads")
		}
		for _, found := range page.Uploads {
			key, ours := strings.CutPrefix(found.Key, s.prefix)
			if !ours || !found.Initiated.Before(before) {
				continue
			}
			if err := s.Abort(ctx, Upload{Key: key, ID: found.UploadID}); err != nil {
				return removed, err
			}
			removed++
		}
		if !page.IsTruncated {
			return removed, nil
		}
		if page.NextKeyMarker == keyMarker && page.NextUploadIDMarker == idMarker {
			return removed, s3failed(ctx, fmt.Errorf("the server's list does not go on after %q", keyMarker), "look for stale uploads")
		}
		keyMarker, idMarker = page.NextKeyMarker, page.NextUploadIDMarker
	}
}

func (s *S3) listUploads(ctx context.Context, keyMarker, idMarker string) (minio.ListMultipartUploadsResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	return s.core.ListMultipartUploads(ctx, s.cfg.Bucket, s.prefix, keyMarker, idMarker, "", 1000)
}
