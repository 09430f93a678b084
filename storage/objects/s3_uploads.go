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

	"parley/internal/domain"
)

// maxTTL is the longest life of an address that S3 allows.
const maxTTL = 7 * 24 * time.Hour

// Begin implements Store.
func (s *S3) Begin(ctx context.Context, key string) (Upload, error) {
	if err := checkCall(ctx, key); err != nil {
		return Upload{}, err
	}
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	id, err := s.core.NewMultipartUpload(ctx, s.cfg.Bucket, s.Name(key), minio.PutObjectOptions{})
	return Upload{Key: key, ID: id}, s3failed(ctx, err, "begin an upload to %q", key)
}

// PartURL implements Store. The part's size is signed as the header Content-Length,
// which clients send anyway.
func (s *S3) PartURL(ctx context.Context, _ string, upload Upload, number int, size int64, ttl time.Duration) (string, error) {
	if err := checkPart(upload, number, size, ttl); err != nil {
		return "", err
	}
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	seconds := (min(ttl, maxTTL) + time.Second - 1).Truncate(time.Second)
	u, err := s.public.PresignHeader(ctx, http.MethodPut, s.cfg.Bucket, s.Name(upload.Key), seconds,
		url.Values{"uploadId": {upload.ID}, "partNumber": {strconv.Itoa(number)}},
		http.Header{"Content-Length": {strconv.FormatInt(size, 10)}})
	if err != nil {
		return "", s3failed(ctx, err, "sign an address for part %d of %q", number, upload.Key)
	}
	return u.String(), nil
}

// Complete implements Store. It remembers an upload for as long as the object exists,
// if the server's ETags are MD5s.
func (s *S3) Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) error {
	if err := checkUpload(upload); err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, completeTimeout)
	defer cancel()
	// While a server joins the parts it may know neither the upload nor the object.
	unlock, err := s.locks.lock(ctx, upload.ID)
	if err != nil {
		return err
	}
	defer unlock()
	stored, err := s.storedParts(ctx, upload)
	if isNoUpload(err) {
		return s.checkCompleted(ctx, upload, plan, parts)
	}
	if err != nil {
		return s3failed(ctx, err, "list the parts of %q", upload.Key)
	}
	// Not every server checks the size that was signed.
	etags, err := checkParts(plan, parts, stored)
	if err != nil {
		return err
	}
	list := make([]minio.CompletePart, len(etags))
	for i, etag := range etags {
		list[i] = minio.CompletePart{PartNumber: i + 1, ETag: etag}
	}
	_, err = s.core.CompleteMultipartUpload(ctx, s.cfg.Bucket, s.Name(upload.Key), upload.ID, list, minio.PutObjectOptions{})
	// Another call, or a first attempt whose answer was lost, may have completed it.
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchUpload:
		return s.checkCompleted(ctx, upload, plan, parts)
	case minio.InvalidPart, minio.InvalidPartOrder:
		if s.checkCompleted(ctx, upload, plan, parts) == nil {
			return nil
		}
		return domain.Errorf(domain.ErrInvalid, "a part has just been sent again")
	case minio.EntityTooSmall:
		return domain.Errorf(domain.ErrInvalid, "the parts of %d bytes are smaller than the store takes", plan.PartSize)
	}
	return s3failed(ctx, err, "complete the upload to %q", upload.Key)
}

// checkCompleted is ErrNotFound unless the parts have been made the object before.
func (s *S3) checkCompleted(ctx context.Context, upload Upload, plan Plan, parts []Part) error {
	info, err := s.core.StatObject(ctx, s.cfg.Bucket, s.Name(upload.Key), minio.StatObjectOptions{})
	if isNoKey(err) || err == nil && (info.Size != plan.Size || normalETag(info.ETag) != objectETag(plan, parts)) {
		return noUpload()
	}
	return s3failed(ctx, err, "find the object %q", upload.Key)
}

// Stored implements Store.
func (s *S3) Stored(ctx context.Context, upload Upload, plan Plan) ([]Part, error) {
	if err := checkUpload(upload); err != nil {
		return nil, err
	}
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	stored, err := s.storedParts(ctx, upload)
	if isNoUpload(err) {
		return nil, noUpload()
	}
	return inPlan(plan, stored), s3failed(ctx, err, "list the parts of %q", upload.Key)
}

// storedParts returns the received parts. Its error is the server's.
func (s *S3) storedParts(ctx context.Context, upload Upload) (map[int]storedPart, error) {
	stored := map[int]storedPart{}
	for marker := 0; ; {
		page, err := s.core.ListObjectParts(ctx, s.cfg.Bucket, s.Name(upload.Key), upload.ID, marker, 1000)
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
			return nil, fmt.Errorf("the server's list of parts does not continue after part %d", marker)
		}
		marker = page.NextPartNumberMarker
	}
}

// Abort implements Store.
func (s *S3) Abort(ctx context.Context, upload Upload) error {
	if checkUpload(upload) != nil {
		return nil // there cannot be such an upload
	}
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	err := s.core.AbortMultipartUpload(ctx, s.cfg.Bucket, s.Name(upload.Key), upload.ID)
	if isNoUpload(err) {
		return nil
	}
	return s3failed(ctx, err, "abort the upload to %q", upload.Key)
}

// Sweep implements Store. It takes every upload under the prefix for Parley's.
func (s *S3) Sweep(ctx context.Context, before time.Time) (int, error) {
	removed := 0
	for keyMarker, idMarker := "", ""; ; {
		page, err := s.core.ListMultipartUploads(ctx, s.cfg.Bucket, s.prefix, keyMarker, idMarker, "", 1000)
		if err != nil {
			return removed, s3failed(ctx, err, "list the uploads")
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
			return removed, s3failed(ctx, fmt.Errorf("the server's list does not continue after %q", keyMarker), "list the uploads")
		}
		keyMarker, idMarker = page.NextKeyMarker, page.NextUploadIDMarker
	}
}
