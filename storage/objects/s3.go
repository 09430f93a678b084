package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"parley/internal/domain"
)

const (
	// callTimeout bounds a call that carries no object's bytes, with its retries.
	callTimeout = 30 * time.Second
	// completeTimeout bounds Complete: joining parts takes the server longer.
	completeTimeout = 5 * time.Minute
	dialTimeout     = 5 * time.Second
	// idleTimeout is how long a connection may carry nothing.
	idleTimeout = 2 * time.Minute
	// attempts bounds the calls to a server that is busy or unavailable.
	attempts = 3
)

// S3 is a Store in a bucket of Amazon S3 or a compatible server.
type S3 struct {
	cfg       S3Config
	prefix    string // "" or ending with a slash
	core      *minio.Core
	public    *minio.Client // signs the addresses for clients
	transport *http.Transport
	locks     locks
}

var _ Store = (*S3)(nil)

// OpenS3 opens a bucket, which must exist. It sends nothing: Ping tells whether the
// bucket exists.
func OpenS3(cfg S3Config) (*S3, error) {
	if cfg.AccessKey == "" || cfg.SecretKey == "" {
		return nil, errors.New("open the bucket: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must both be set")
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "https://s3.amazonaws.com"
	} else if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	cfg.PublicEndpoint = cmp.Or(cfg.PublicEndpoint, cfg.Endpoint)
	transport := newTransport()
	client, err := newClient(cfg, cfg.Endpoint, transport)
	if err != nil {
		return nil, fmt.Errorf("open the bucket: %w", err)
	}
	public, err := newClient(cfg, cfg.PublicEndpoint, transport)
	if err != nil {
		return nil, fmt.Errorf("open the bucket: public endpoint: %w", err)
	}
	s := &S3{cfg: cfg, core: &minio.Core{Client: client}, public: public, transport: transport}
	if cfg.Prefix != "" {
		s.prefix = cfg.Prefix + "/"
	}
	return s, nil
}

func newClient(cfg S3Config, endpoint string, transport http.RoundTripper) (*minio.Client, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	if cfg.PathStyle {
		lookup = minio.BucketLookupPath
	}
	return minio.New(u.Host, &minio.Options{
		Creds:        credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, cfg.SessionToken),
		Secure:       u.Scheme == "https",
		Transport:    transport,
		Region:       cfg.Region,
		BucketLookup: lookup,
		MaxRetries:   attempts,
	})
}

// newTransport is like the default one, with deadlines for a server that falls silent.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &watchedConn{conn}, nil
		},
		TLSHandshakeTimeout:   dialTimeout,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       idleTimeout / 2,
		MaxIdleConnsPerHost:   16,
		DisableCompression:    true, // bytes must arrive as they are stored
	}
}

// watchedConn fails when it has carried nothing for idleTimeout. A write extends the
// deadline of the reader too: it waits from the start of a request for an answer that can
// only come at its end.
type watchedConn struct{ net.Conn }

func (c *watchedConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *watchedConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close closes idle connections.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Bucket implements Store.
func (s *S3) Bucket() string { return s.cfg.Bucket }

// Name implements Store.
func (s *S3) Name(key string) string { return s.prefix + key }

// Ping implements Store: it asks for the bucket.
func (s *S3) Ping(ctx context.Context) error {
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	exists, err := s.core.BucketExists(ctx, s.cfg.Bucket)
	if err == nil && !exists {
		err = errors.New("it does not exist")
	}
	return s3failed(ctx, err, "reach the bucket %s", s.cfg.Bucket)
}

// PutFile implements Store. The client sends a large file in parts, which it reads from the
// file meanwhile. Parts that it cannot remove after an error are swept.
func (s *S3) PutFile(ctx context.Context, key, path string) error {
	if err := checkCall(ctx, key); err != nil {
		return err
	}
	file, size, err := openFile(path)
	if err != nil {
		return err
	}
	defer file.Close()
	options := minio.PutObjectOptions{PartSize: uint64(max(16<<20, size/domain.MaxParts+1)), NumThreads: 4}
	_, err = s.core.Client.PutObject(ctx, s.cfg.Bucket, s.Name(key), file, size, options)
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

// ReadStart implements Store, with a request for a range.
func (s *S3) ReadStart(ctx context.Context, key string, n int) ([]byte, int64, error) {
	if err := checkCall(ctx, key); err != nil {
		return nil, 0, err
	}
	ctx, cancel := withTimeout(ctx, callTimeout)
	defer cancel()
	var options minio.GetObjectOptions
	options.Set("Range", fmt.Sprintf("bytes=0-%d", n-1))
	body, info, header, err := s.core.GetObject(ctx, s.cfg.Bucket, s.Name(key), options)
	switch code := minio.ToErrorResponse(err).Code; {
	case isNoKey(err):
		return nil, 0, notFound(key)
	case code == minio.InvalidRange: // it has no bytes
		return nil, 0, nil
	case err != nil:
		return nil, 0, s3failed(ctx, err, "read object %q", key)
	}
	defer body.Close()
	size := info.Size // that of the range, if the server knows ranges
	if _, all, ok := strings.Cut(header.Get("Content-Range"), "/"); ok {
		size, err = strconv.ParseInt(all, 10, 64)
	}
	var start []byte
	if err == nil {
		start, err = io.ReadAll(io.LimitReader(body, int64(n)))
	}
	return start, size, s3failed(ctx, err, "read object %q", key)
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

// errTooLong is the cause of deadlines that are ours and not the caller's.
var errTooLong = fmt.Errorf("%w: no answer in time", domain.ErrUnavailable)

func withTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errTooLong)
}

// s3failed is failed with the code of the server's answer, which its text lacks. Whatever
// the reason, an operator must see to it: for the caller it is unavailable.
func s3failed(ctx context.Context, err error, format string, args ...any) error {
	if code := minio.ToErrorResponse(err).Code; err != nil && code != "" {
		err = fmt.Errorf("%s: %w", code, err)
	}
	return failed(ctx, err, format, args...)
}

func isNoKey(err error) bool {
	answer := minio.ToErrorResponse(err)
	return answer.Code == minio.NoSuchKey || answer.Code == "NotFound"
}

func isNoUpload(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchUpload }
