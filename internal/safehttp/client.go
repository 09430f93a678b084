package safehttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

const (
	dialTimeout = 5 * time.Second
	// maxAddresses is how many of a host's addresses are tried.
	maxAddresses = 4
	// maxHeader limits the header of a response, in bytes.
	maxHeader = 16 << 10
	// idleTimeout is how long a connection is kept for the next request.
	idleTimeout = 30 * time.Second
	maxIdle     = 64
)

// ErrRefused says that a host has no address that may be called.
var ErrRefused = errors.New("the host has no public address")

// Config is what a client needs.
type Config struct {
	Policy Policy
	// Timeout limits a request, with the reading of its response.
	Timeout time.Duration
	// Lookup resolves names; nil for the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

// NewClient makes a client that keeps to a policy. It does not follow redirects: it gives
// them as responses.
func NewClient(cfg Config) *http.Client {
	if cfg.Lookup == nil {
		cfg.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	d := dialer{Config: cfg}
	d.dial = (&net.Dialer{Timeout: dialTimeout, ControlContext: d.control}).DialContext
	return &http.Client{
		Timeout:       cfg.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            d.dialHost,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: maxHeader,
			MaxIdleConns:           maxIdle,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        idleTimeout,
		},
	}
}

// dialer connects to hosts that its policy allows.
type dialer struct {
	Config
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// dialHost resolves a host once, and dials what it found.
func (d *dialer) dialHost(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, addr := range addresses {
		conn, err := d.dial(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// resolve returns the addresses of a host that may be called.
func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if err := d.Policy.checkHost(host); err != nil {
		return nil, fmt.Errorf("host %w: %w", err, ErrRefused)
	}
	found := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		found = append(found, addr)
	} else if found, err = d.Lookup(ctx, host); err != nil {
		return nil, err
	}
	var allowed []netip.Addr
	for _, addr := range found {
		if addr = addr.Unmap(); d.allows(addr) && len(allowed) < maxAddresses {
			allowed = append(allowed, addr)
		}
	}
	if len(allowed) == 0 {
		return nil, ErrRefused
	}
	return allowed, nil
}

func (d *dialer) allows(addr netip.Addr) bool { return d.Policy.Insecure || IsPublic(addr) }

// control checks the address that a socket is about to connect to, whatever led there.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	addr, err := netip.ParseAddrPort(address)
	if err != nil || !d.allows(addr.Addr()) {
		return ErrRefused
	}
	return nil
}
