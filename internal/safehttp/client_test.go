package safehttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// receiver is a server on loopback that counts requests.
func receiver(t *testing.T, answer http.HandlerFunc) (*url.URL, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u, &count
}

func get(t *testing.T, client *http.Client, address string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

// A name that resolves to an address that is not public is refused when it is dialed,
// whatever it resolved to before.
func TestRebinding(t *testing.T) {
	t.Parallel()
	at, count := receiver(t, ok)
	for _, resolved := range []string{"127.0.0.1", "::ffff:127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "0.0.0.0"} {
		client := NewClient(Config{Timeout: time.Minute, Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(resolved)}, nil
		}})
		_, err := get(t, client, "http://hooks.example.com:"+at.Port())
		if !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", resolved, err)
		}
	}
	for _, address := range []string{at.String(), "http://localhost:" + at.Port()} {
		if _, err := get(t, NewClient(Config{Timeout: time.Minute}), address); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if count.Load() != 0 {
		t.Errorf("%d requests came through", count.Load())
	}
}

// Of several addresses only the public ones are dialed, each as it was resolved.
func TestDialsWhatWasResolved(t *testing.T) {
	t.Parallel()
	var lookups int
	var dialed []string
	d := dialer{Config: Config{Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
		lookups++
		var all []netip.Addr
		for _, text := range []string{"10.0.0.1", "::ffff:8.8.8.8", "64:ff9b::1", "2606:4700::1", "1.1.1.1", "1.0.0.1", "9.9.9.9"} {
			all = append(all, netip.MustParseAddr(text))
		}
		return all, nil
	}}}
	d.dial = func(_ context.Context, _, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return nil, errors.New("no network")
	}
	_, err := d.dialHost(t.Context(), "tcp", "hooks.example.com:443")
	want := []string{"8.8.8.8:443", "[2606:4700::1]:443", "1.1.1.1:443", "1.0.0.1:443"}
	if err == nil || lookups != 1 || !slices.Equal(dialed, want) {
		t.Errorf("dialed %q after %d lookups: %v", dialed, lookups, err)
	}
}

// The socket is checked too.
func TestControl(t *testing.T) {
	t.Parallel()
	d := dialer{}
	for address, allowed := range map[string]bool{"8.8.8.8:443": true, "127.0.0.1:443": false, "[::ffff:127.0.0.1]:443": false, "localhost:443": false, "": false} {
		if err := d.control(t.Context(), "tcp", address, nil); (err == nil) != allowed {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestHostsAreCheckedWhenDialed(t *testing.T) {
	t.Parallel()
	at, count := receiver(t, ok)
	client := NewClient(Config{Timeout: time.Minute, Policy: Policy{Insecure: true, Hosts: []string{"hooks.example.com"}},
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}})
	if _, err := get(t, client, "http://hooks.example.com:"+at.Port()); err != nil {
		t.Error(err)
	}
	for _, host := range []string{"127.0.0.1", "other.example.com"} {
		if _, err := get(t, client, "http://"+host+":"+at.Port()); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if count.Load() != 1 {
		t.Errorf("%d requests came through", count.Load())
	}
}

// A redirect is an answer, and a proxy of the environment is not used.
func TestNoRedirectsAndNoProxy(t *testing.T) {
	other, followed := receiver(t, ok)
	t.Setenv("HTTP_PROXY", other.String())
	t.Setenv("HTTPS_PROXY", other.String())
	at, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.String(), http.StatusTemporaryRedirect)
	})
	client := NewClient(Config{Timeout: time.Minute, Policy: Policy{Insecure: true}})
	response, err := get(t, client, at.String())
	if err != nil || response.StatusCode != http.StatusTemporaryRedirect || followed.Load() != 0 {
		t.Errorf("%v, %v, %d requests at the other", response, err, followed.Load())
	}
}

func TestResponseHeaderLimit(t *testing.T) {
	t.Parallel()
	at, _ := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("a", 2*maxHeader))
	})
	if _, err := get(t, NewClient(Config{Timeout: time.Minute, Policy: Policy{Insecure: true}}), at.String()); err == nil {
		t.Error("a header of any length is read")
	}
}
