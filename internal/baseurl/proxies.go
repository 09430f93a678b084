package baseurl

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Proxies are the addresses and networks of trusted proxies: what they say of a request
// is believed, in Forwarded (RFC 7239) or in X-Forwarded-Proto, -Host, -Port, -Prefix and
// -For. What others say, and what is malformed, is ignored.
type Proxies []netip.Prefix

// ParseProxies reads addresses and networks.
func ParseProxies(texts []string) (Proxies, error) {
	proxies := make(Proxies, len(texts))
	for i, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, notAddress := netip.ParseAddr(text)
			if notAddress != nil {
				return nil, fmt.Errorf("trusted proxy %q is not an address or network: %w", text, err)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		proxies[i] = network
	}
	return proxies, nil
}

// Of returns the public URL of the interface that a request came in on, up to and with Root.
// It is attested when a trusted proxy sent the request, or when it is an address of the
// server itself: nobody else can have chosen it.
func (p Proxies) Of(r *http.Request) (url string, attested bool) {
	site := address{scheme: "http", host: r.Host}
	if r.TLS != nil {
		site.scheme = "https"
	}
	if p.sent(r) {
		return site.with(p.forwardedAddress(r.Header)).String() + Root, true
	}
	return site.String() + Root, readHost(r.Host) != "" && ownHost(r)
}

// sent reports whether the peer of a request is a trusted proxy.
func (p Proxies) sent(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.trust(peer.Addr())
}

func (p Proxies) trust(peer netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(peer.Unmap()) })
}

// forwardedAddress returns the address that trusted proxies say a request was sent to. A proxy
// passes on headers that it does not set, the client's among them: where both kinds are
// sent, they must agree.
func (p Proxies) forwardedAddress(h http.Header) address {
	standard, other := p.standard(h), p.deFacto(h)
	switch {
	case standard == (address{}):
		return other
	case other.scheme == "" && other.host == "" && other.port == "":
		standard.prefix = other.prefix // Forwarded has none
		return standard
	case standard.scheme != other.scheme || !strings.EqualFold(standard.hostPort(), other.hostPort()):
		return address{}
	}
	return other
}

// standard reads Forwarded. Each proxy adds an element with the node that it was asked by.
// From the last one on, the elements of trusted proxies count, up to the first from outside.
func (p Proxies) standard(h http.Header) address {
	elements, err := parseForwarded(strings.Join(h.Values("Forwarded"), ","))
	if err != nil || len(elements) == 0 {
		return address{}
	}
	first := len(elements) - 1
	for first > 0 && p.trustNode(elements[first]["for"]) {
		first--
	}
	var site address
	for _, element := range slices.Backward(elements[first:]) {
		if scheme := readScheme(element["proto"]); scheme != "" {
			site.scheme = scheme
		}
		if host := readHost(element["host"]); host != "" {
			site.host = host
		}
	}
	return site
}

// deFacto reads the X-Forwarded headers.
func (p Proxies) deFacto(h http.Header) address {
	depth := p.depth(h)
	return address{
		scheme: readScheme(outermost(h, "X-Forwarded-Proto", depth)),
		host:   readHost(outermost(h, "X-Forwarded-Host", depth)),
		port:   readPort(outermost(h, "X-Forwarded-Port", depth)),
		prefix: readPrefix(last(list(h, "X-Forwarded-Prefix"), depth)),
	}
}

// depth is how many of the last values of a list trusted proxies have added, by
// X-Forwarded-For, which has the node that each was asked by. Proxies that append to lists
// append to this one: without it all values count.
func (p Proxies) depth(h http.Header) int {
	nodes := list(h, "X-Forwarded-For")
	if len(nodes) == 0 {
		return math.MaxInt
	}
	depth := 1
	for _, node := range slices.Backward(nodes) {
		if !p.trustNode(node) {
			break
		}
		depth++
	}
	return depth
}

// trustNode reports whether a node, such as 10.0.0.1, "[2001:db8::1]:80" or unknown, is a
// trusted proxy.
func (p Proxies) trustNode(node string) bool {
	if host, _, err := net.SplitHostPort(node); err == nil {
		node = host
	}
	address, err := netip.ParseAddr(strings.Trim(node, "[]"))
	return err == nil && p.trust(address)
}

// list returns the values of a header that is a comma-separated list, or comes several times.
func list(h http.Header, name string) []string {
	lines := h.Values(name)
	if len(lines) == 0 {
		return nil
	}
	values := strings.Split(strings.Join(lines, ","), ",")
	for i, value := range values {
		values[i] = strings.TrimSpace(value)
	}
	return values
}

func last(values []string, depth int) []string { return values[max(0, len(values)-depth):] }

// outermost returns the first value that a trusted proxy has added; "" for none.
func outermost(h http.Header, name string, depth int) string {
	if values := last(list(h, name), depth); len(values) > 0 {
		return values[0]
	}
	return ""
}

// address is the parts of a public address, "" for those that are not known.
type address struct{ scheme, host, port, prefix string }

// with returns the address with what is known better.
func (a address) with(better address) address {
	if better.scheme != "" {
		a.scheme = better.scheme
	}
	_, explicit := splitPort(better.host)
	if better.host != "" {
		a.host = better.host
	}
	// A port in X-Forwarded-Host is what the client sees; X-Forwarded-Port, what the proxy
	// listens on.
	if better.port != "" && explicit == "" {
		a.port = better.port
	}
	if better.prefix != "" {
		a.prefix = better.prefix
	}
	return a
}

// hostPort returns host and port, without the port that the scheme has by default.
func (a address) hostPort() string {
	host, port := splitPort(a.host)
	if a.port != "" {
		port = a.port
	}
	if port == "" || a.scheme == "https" && port == "443" || a.scheme == "http" && port == "80" {
		return host
	}
	return host + ":" + port
}

func (a address) String() string { return a.scheme + "://" + a.hostPort() + a.prefix }

// splitPort splits a host of a URL, with its brackets, from its port.
func splitPort(host string) (name, port string) {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i], host[i+1:]
	}
	return host, ""
}

// The readers below give "" for what is malformed.

func readScheme(text string) string {
	if text = strings.ToLower(text); text == "http" || text == "https" {
		return text
	}
	return ""
}

// maxHost is the length of the longest domain name, with a port.
const maxHost = 253 + len(":65535")

var domainName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

func readHost(text string) string {
	name, port := splitPort(text)
	if len(text) > maxHost || strings.HasSuffix(text, ":") || port != "" && readPort(port) == "" {
		return ""
	}
	if literal, ok := strings.CutPrefix(name, "["); ok {
		literal, closed := strings.CutSuffix(literal, "]")
		if address, err := netip.ParseAddr(literal); !closed || err != nil || !address.Is6() || address.Zone() != "" {
			return ""
		}
		return text
	}
	if !domainName.MatchString(name) {
		return ""
	}
	return text
}

func readPort(text string) string {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 || strconv.FormatUint(number, 10) != text {
		return ""
	}
	return text
}

// maxPrefix limits the prefixes of all proxies together, in bytes.
const maxPrefix = 1024

var pathPrefix = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// readPrefix joins the prefixes that proxies have removed from the path, the first proxy's
// first.
func readPrefix(values []string) string {
	prefix := ""
	for _, value := range values {
		prefix += strings.TrimRight(value, "/")
	}
	if len(prefix) > maxPrefix || prefix != "" && !pathPrefix.MatchString(prefix) {
		return ""
	}
	return prefix
}

// ownHost reports whether the host of a request is this machine, or the very address that
// the connection came in on.
func ownHost(r *http.Request) bool {
	name, port := splitPort(r.Host)
	if strings.EqualFold(name, "localhost") {
		return true
	}
	host, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if err != nil {
		return false
	}
	if host.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if port == "" {
		port = "80"
	}
	return err == nil && at.Addr().Unmap() == host.Unmap() && strconv.Itoa(int(at.Port())) == port
}
