package objects

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"parley/storage"
)

const (
	// callTimeout bounds a call that carries no object's bytes, retries included.
	callTimeout = 30 * time.Second
	// joinTimeout bounds the server's joining of parts, which takes it a while.
	joinTimeout = 5 * time.Minute
	// dialTimeout bounds connecting.
	dialTimeout = 5 * time.Second
	// idleTimeout is how long a connection may carry nothing.
	idleTimeout = 2 * time.Minute
	// attempts is how often a call is tried when the server is busy or away.
	attempts = 3
)

// S3 is a Store in a bucket of Amazon's S3, or of a server that speaks its language.
type S3 struct {
	cfg    S3Config
	prefix string // "" or ending with a slash
	core   *minio.Core
	public *minio.Client // makes the addresses for clients
	idle   interface{ CloseIdleConnections() }
	locks  locks
}

var _ Store = (*S3)(nil)

// OpenS3 makes a Store of a bucket, which must exist. It sends nothing: Ping tells
// whether the bucket is there.
func OpenS3(cfg S3Config) (*S3, error) {
	if cfg.AccessKey == "" || cfg.SecretKey == "" {
		return nil, errors.New("open the bucket: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must both be set")
	}
	if cfg.Endpoint == "" {
		cfg.Endpoint = "https://s3.amazonaws.com"
	} else if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if cfg.PublicEndpoint == "" {
		cfg.PublicEndpoint = cfg.Endpoint
	}
	transport := newTransport()
	client, err := newClient(cfg, cfg.Endpoint, transport)
	if err != nil {
		return nil, fmt.Errorf("open the bucket: %w", err)
	}
	public, err := newClient(cfg, cfg.PublicEndpoint, transport)
	if err != nil {
		return nil, fmt.Errorf("open the bucket: public endpoint: %w", err)
	}
	s := &S3{cfg: cfg, core: &minio.Core{Client: client}, public: public, idle: transport}
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

// newTransport is like the default one, with deadlines that a server cannot escape
// by falling silent.
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
		DisableCompression:    true, // bytes are to arrive as they were kept
	}
}

// watchedConn fails when it has carried nothing for idleTimeout.
type watchedConn struct{ net.Conn }

func (c *watchedConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write also gives the reader more time: it waits from the start of a request
// for an answer that can only come at its end.
func (c *watchedConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close lets go of idle connections.
func (s *S3) Close() error {
	s.idle.CloseIdleConnections()
	return nil
}

// Bucket implements Store.
func (s *S3) Bucket() string { return s.cfg.Bucket }

// Name implements Store.
func (s *S3) Name(key string) string { return s.prefix + key }

// Ping implements Store: the bucket is there.
func (s *S3) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errTooLong)
	defer cancel()
	there, err := s.core.BucketExists(ctx, s.cfg.Bucket)
	if err == nil && !there {
		err = errors.New("it does not exist")
	}
	if err != nil {
		return s3failed(ctx, err, "reach the bucket %s", s.cfg.Bucket)
	}
	return nil
}

// name is the object's key in the bucket.
func (s *S3) name(key string) string { return s.prefix + key }

// errTooLong is the cause of deadlines that are ours and not the caller's.
var errTooLong = fmt.Errorf("%w: no answer in time", storage.ErrUnavailable)

// s3failed says what was attempted when the server did not do it. Whatever the
// server's reason, somebody has to see to it: to the caller it is unavailable.
func s3failed(ctx context.Context, err error, format string, args ...any) error {
	if code := minio.ToErrorResponse(err).Code; code != "" {
		err = fmt.Errorf("%s: %w", code, err) // its own text leaves the code out
	}
	return failed(ctx, err, format, args...)
}

func isNoKey(err error) bool {
	answer := minio.ToErrorResponse(err)
	return answer.Code == minio.NoSuchKey || answer.Code == "NotFound"
}

func isNoUpload(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchUpload }
