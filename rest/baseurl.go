package rest

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/internal/baseurl"
	"parley/storage"
)

// parseProxies reads the addresses and networks of trusted proxies.
func parseProxies(texts []string) ([]netip.Prefix, error) {
	proxies := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, notAddress := netip.ParseAddr(text)
			if notAddress != nil {
				return nil, fmt.Errorf("trusted proxy %q is no address or network: %w", text, err)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		proxies[i] = network
	}
	return proxies, nil
}

// setBaseURL stores the public URL of a request in its context. A request without a host is
// refused, except for health checks: those of HTTP/1.0 send no Host.
func (s *Server) setBaseURL(c *gin.Context) {
	if c.Request.Host == "" && !isProbe(c.FullPath()) {
		writeError(c, storage.Errorf(errBadRequest, "the Host header is empty"))
		return
	}
	c.Request = c.Request.WithContext(baseurl.With(c.Request.Context(), s.baseURL(c.Request), s.cfg.BaseURL != ""))
	c.Next()
}

// baseURL returns the public URL: the configured one, else that of the request. X-Forwarded
// headers count only from trusted proxies.
func (s *Server) baseURL(r *http.Request) string {
	if s.cfg.BaseURL != "" {
		return strings.TrimRight(s.cfg.BaseURL, "/")
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if s.fromProxy(r) {
		if value := r.Header.Get("X-Forwarded-Proto"); value == "http" || value == "https" {
			scheme = value
		}
		if value := r.Header.Get("X-Forwarded-Host"); value != "" && !strings.ContainsAny(value, "/\\@ ,\"") {
			host = value
		}
	}
	return scheme + "://" + host + Root
}

func (s *Server) fromProxy(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && slices.ContainsFunc(s.proxies, func(network netip.Prefix) bool { return network.Contains(peer.Addr().Unmap()) })
}
