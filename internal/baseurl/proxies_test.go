package baseurl_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"parley/internal/baseurl"
)

// headers are lines of a request, "Name: value".
type headers []string

func (h headers) request(t testing.TB, host, peer string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	r.Host, r.RemoteAddr = host, peer
	for _, line := range h {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func parse(t testing.TB, proxies ...string) baseurl.Proxies {
	t.Helper()
	parsed, err := baseurl.ParseProxies(proxies)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestOf(t *testing.T) {
	t.Parallel()
	proxies := parse(t, "10.0.0.0/8", "2001:db8::/32", "192.0.2.1")
	const inner = "http://inner:8080"
	for name, test := range map[string]struct {
		headers headers
		want    string
	}{
		"nothing said": {nil, inner},

		"X-Forwarded":                  {headers{"X-Forwarded-Proto: https", "X-Forwarded-Host: parley.example"}, "https://parley.example"},
		"scheme alone":                 {headers{"X-Forwarded-Proto: https"}, "https://inner:8080"},
		"scheme in capitals":           {headers{"X-Forwarded-Proto: HTTPS"}, "https://inner:8080"},
		"host alone":                   {headers{"X-Forwarded-Host: parley.example"}, "http://parley.example"},
		"host with a port":             {headers{"X-Forwarded-Host: parley.example:8443", "X-Forwarded-Proto: https"}, "https://parley.example:8443"},
		"the scheme's own port":        {headers{"X-Forwarded-Host: parley.example:443", "X-Forwarded-Proto: https"}, "https://parley.example"},
		"IPv6":                         {headers{"X-Forwarded-Host: [2001:db8::1]:8443"}, "http://[2001:db8::1]:8443"},
		"port":                         {headers{"X-Forwarded-Host: parley.example", "X-Forwarded-Proto: https", "X-Forwarded-Port: 8443"}, "https://parley.example:8443"},
		"default port":                 {headers{"X-Forwarded-Host: parley.example", "X-Forwarded-Proto: https", "X-Forwarded-Port: 443"}, "https://parley.example"},
		"default port of the other":    {headers{"X-Forwarded-Host: parley.example", "X-Forwarded-Proto: https", "X-Forwarded-Port: 80"}, "https://parley.example:80"},
		"port of the plain host":       {headers{"X-Forwarded-Proto: https", "X-Forwarded-Port: 443"}, "https://inner"},
		"the client's port wins":       {headers{"X-Forwarded-Host: parley.example:8443", "X-Forwarded-Port: 443"}, "http://parley.example:8443"},
		"port of an IPv6 address":      {headers{"X-Forwarded-Host: [2001:db8::1]", "X-Forwarded-Port: 8443"}, "http://[2001:db8::1]:8443"},
		"prefix":                       {headers{"X-Forwarded-Host: parley.example", "X-Forwarded-Prefix: /tools/parley"}, "http://parley.example/tools/parley"},
		"prefix with a slash":          {headers{"X-Forwarded-Prefix: /tools/"}, inner + "/tools"},
		"prefix of nothing":            {headers{"X-Forwarded-Prefix: /"}, inner},
		"prefixes of two":              {headers{"X-Forwarded-Prefix: /tools, /parley"}, inner + "/tools/parley"},
		"prefixes on two lines":        {headers{"X-Forwarded-Prefix: /tools", "X-Forwarded-Prefix: /parley"}, inner + "/tools/parley"},
		"lists, nothing on the way":    {headers{"X-Forwarded-Proto: https, http", "X-Forwarded-Host: parley.example, middle"}, "https://parley.example"},
		"lists, two trusted proxies":   {headers{"X-Forwarded-For: 203.0.113.9, 10.0.0.2", "X-Forwarded-Proto: https,http", "X-Forwarded-Host: parley.example , middle:81", "X-Forwarded-Port: 8443, 81"}, "https://parley.example:8443"},
		"lists, the first is a client": {headers{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Host: evil.example, parley.example", "X-Forwarded-Proto: http, https"}, "https://parley.example"},
		"lists, a client in between":   {headers{"X-Forwarded-For: 10.0.0.3, 203.0.113.9, 10.0.0.2", "X-Forwarded-Host: evil.example, parley.example, middle"}, "http://parley.example"},
		"lists, a forged chain":        {headers{"X-Forwarded-For: 10.0.0.4, 10.0.0.3, 203.0.113.9", "X-Forwarded-Host: one.example, two.example, parley.example", "X-Forwarded-Prefix: /one, /two, /three"}, "http://parley.example/three"},
		"one value of two proxies":     {headers{"X-Forwarded-For: 203.0.113.9, 10.0.0.2", "X-Forwarded-Host: parley.example", "X-Forwarded-Proto: https"}, "https://parley.example"},
		"nodes with ports":             {headers{"X-Forwarded-For: 203.0.113.9:999, [2001:db8::5]:80, 10.0.0.2:80", "X-Forwarded-Host: parley.example, b, c"}, "http://parley.example"},

		"a scheme that is none":    {headers{"X-Forwarded-Proto: ftp"}, inner},
		"an empty scheme":          {headers{"X-Forwarded-Proto: "}, inner},
		"a host with a path":       {headers{"X-Forwarded-Host: evil.example/x"}, inner},
		"a host with a user":       {headers{"X-Forwarded-Host: a@evil.example"}, inner},
		"a host with a blank":      {headers{"X-Forwarded-Host: evil example"}, inner},
		"a host with a quote":      {headers{`X-Forwarded-Host: evil"example`}, inner},
		"an empty host":            {headers{"X-Forwarded-Host: "}, inner},
		"an empty host in a list":  {headers{"X-Forwarded-Host: , parley.example"}, inner},
		"a host with no port":      {headers{"X-Forwarded-Host: evil.example:"}, inner},
		"a host with a bad port":   {headers{"X-Forwarded-Host: evil.example:65536"}, inner},
		"a host with a bad label":  {headers{"X-Forwarded-Host: -evil.example"}, inner},
		"a host of dots":           {headers{"X-Forwarded-Host: ..."}, inner},
		"a host that is too long":  {headers{"X-Forwarded-Host: " + strings.Repeat("a.", 130)}, inner},
		"IPv6 without brackets":    {headers{"X-Forwarded-Host: 2001:db8::1"}, inner},
		"IPv6 with a zone":         {headers{"X-Forwarded-Host: [fe80::1%25eth0]"}, inner},
		"IPv6 that does not close": {headers{"X-Forwarded-Host: [2001:db8::1"}, inner},
		"a port of zero":           {headers{"X-Forwarded-Port: 0"}, inner},
		"a port with a sign":       {headers{"X-Forwarded-Port: +443"}, inner},
		"a port with zeros":        {headers{"X-Forwarded-Port: 0443"}, inner},
		"a port of words":          {headers{"X-Forwarded-Port: https"}, inner},
		"a prefix without a slash": {headers{"X-Forwarded-Prefix: tools"}, inner},
		"a prefix of two slashes":  {headers{"X-Forwarded-Prefix: //evil.example"}, inner},
		"a prefix that goes up":    {headers{"X-Forwarded-Prefix: /tools/../admin"}, inner},
		"a prefix with a query":    {headers{"X-Forwarded-Prefix: /tools?x"}, inner},
		"an encoded prefix":        {headers{"X-Forwarded-Prefix: /%2e%2e"}, inner},
		"a prefix too long":        {headers{"X-Forwarded-Prefix: /" + strings.Repeat("a", 1025)}, inner},

		"Forwarded":                     {headers{"Forwarded: for=203.0.113.9;proto=https;host=parley.example"}, "https://parley.example"},
		"Forwarded with a port":         {headers{`Forwarded: proto=https;host="parley.example:8443"`}, "https://parley.example:8443"},
		"a port without quotes":         {headers{`Forwarded: proto=https;host=parley.example:8443`}, "https://parley.example:8443"},
		"Forwarded, IPv6":               {headers{`Forwarded: host="[2001:db8::1]:81"`}, "http://[2001:db8::1]:81"},
		"Forwarded in capitals":         {headers{"FORWARDED: FOR=_hidden;PROTO=HTTPS;Host=parley.example"}, "https://parley.example"},
		"Forwarded with blanks":         {headers{"Forwarded:  for=unknown ; proto=https ;host=parley.example ; "}, "https://parley.example"},
		"Forwarded with an escape":      {headers{`Forwarded: host="parley\.example"`}, "http://parley.example"},
		"Forwarded, two trusted":        {headers{"Forwarded: for=203.0.113.9;proto=https;host=parley.example, for=10.0.0.2;proto=http;host=middle"}, "https://parley.example"},
		"Forwarded on two lines":        {headers{"Forwarded: for=203.0.113.9;proto=https;host=parley.example", `Forwarded: for="[2001:db8::2]:1"`}, "https://parley.example"},
		"Forwarded, from a client":      {headers{"Forwarded: host=evil.example;for=10.0.0.2, for=203.0.113.9;host=parley.example;proto=https"}, "https://parley.example"},
		"Forwarded, hidden in between":  {headers{"Forwarded: host=evil.example, for=_x;host=parley.example"}, "http://parley.example"},
		"Forwarded, the inner one says": {headers{"Forwarded: for=203.0.113.9;proto=https, for=10.0.0.2;host=parley.example"}, "https://parley.example"},
		"Forwarded with a prefix":       {headers{"Forwarded: proto=https;host=parley.example", "X-Forwarded-Prefix: /tools"}, "https://parley.example/tools"},
		"Forwarded of nothing we know":  {headers{"Forwarded: for=203.0.113.9;by=_me", "X-Forwarded-Host: parley.example"}, "http://parley.example"},
		"both, and they agree":          {headers{"Forwarded: proto=https;host=parley.example", "X-Forwarded-Proto: https", "X-Forwarded-Host: Parley.example", "X-Forwarded-Port: 443"}, "https://Parley.example"},
		"both, and they differ":         {headers{"Forwarded: proto=https;host=evil.example", "X-Forwarded-Proto: https", "X-Forwarded-Host: parley.example"}, inner},
		"both, one says less":           {headers{"Forwarded: host=evil.example", "X-Forwarded-Proto: https"}, inner},

		"Forwarded, a word":               {headers{"Forwarded: evil"}, inner},
		"Forwarded, a name twice":         {headers{"Forwarded: host=a;host=b"}, inner},
		"Forwarded, an open quote":        {headers{`Forwarded: host="evil.example`}, inner},
		"Forwarded, two values":           {headers{`Forwarded: host="a"b`}, inner},
		"Forwarded, no value":             {headers{"Forwarded: host="}, inner},
		"Forwarded, a blank before =":     {headers{"Forwarded: host =evil.example"}, inner},
		"Forwarded, a comma in the quote": {headers{`Forwarded: for="a,b";host="evil,example"`}, inner},
		"Forwarded, a bad element":        {headers{"Forwarded: =, host=evil.example"}, inner},
		"Forwarded, too many":             {headers{"Forwarded: " + strings.Repeat("for=10.0.0.1,", 40) + "host=evil.example"}, inner},
	} {
		got, attested := proxies.Of(test.headers.request(t, "inner:8080", "10.1.2.3:999"))
		if got != test.want+baseurl.Root || !attested {
			t.Errorf("%s: %s, attested %v, want %s", name, got, attested, test.want+baseurl.Root)
		}
		// A peer that is no proxy can say what it likes.
		got, attested = proxies.Of(test.headers.request(t, "inner:8080", "203.0.113.9:999"))
		if got != inner+baseurl.Root || attested {
			t.Errorf("%s, from a client: %s, attested %v", name, got, attested)
		}
	}
}

func TestPeers(t *testing.T) {
	t.Parallel()
	proxies := parse(t, "10.0.0.0/8", "2001:db8::/32", "192.0.2.1")
	for peer, want := range map[string]bool{
		"10.255.0.1:1": true, "[::ffff:10.0.0.1]:1": true, "[2001:db8::9]:1": true, "192.0.2.1:1": true,
		"192.0.2.2:1": false, "11.0.0.1:1": false, "[2001:db9::1]:1": false, "": false, "@": false, "10.0.0.1": false,
	} {
		got, _ := proxies.Of(headers{"X-Forwarded-Host: parley.example"}.request(t, "inner", peer))
		if (got == "http://parley.example"+baseurl.Root) != want {
			t.Errorf("from %q: %s", peer, got)
		}
	}
	if _, err := baseurl.ParseProxies([]string{"10.0.0.1", "proxy.example"}); err == nil {
		t.Error("a name was taken for an address")
	}
}

// Without a proxy, an address counts as the server's when the connection proves it.
func TestAttested(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		host, local string
		want        bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:9000", "172.17.0.2:8080", true}, // a container's port
		{"localhost", "127.0.0.1:80", true},
		{"LOCALHOST:8080", "", true},
		{"[::1]:8080", "[::1]:8080", true},
		{"192.0.2.7:8080", "192.0.2.7:8080", true},
		{"192.0.2.7", "192.0.2.7:80", true},
		{"192.0.2.7:8080", "[::ffff:192.0.2.7]:8080", true},
		{"[2001:db8::1]:8080", "[2001:db8::1]:8080", true},
		{"192.0.2.7:8081", "192.0.2.7:8080", false},
		{"192.0.2.8:8080", "192.0.2.7:8080", false},
		{"192.0.2.7:8080", "", false},
		{"parley.example", "192.0.2.7:80", false},
		{"localhost.evil.example", "127.0.0.1:80", false},
		{"127.0.0.1.evil.example", "127.0.0.1:80", false},
	} {
		r := headers{}.request(t, test.host, "203.0.113.9:1")
		if test.local != "" {
			local, err := net.ResolveTCPAddr("tcp", test.local)
			if err != nil {
				t.Fatal(err)
			}
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
		}
		if _, got := baseurl.Proxies(nil).Of(r); got != test.want {
			t.Errorf("%s on %q: attested %v", test.host, test.local, got)
		}
	}
	r := headers{}.request(t, "parley.example", "203.0.113.9:1")
	r.TLS = &tls.ConnectionState{}
	if got, _ := baseurl.Proxies(nil).Of(r); got != "https://parley.example"+baseurl.Root {
		t.Errorf("over TLS: %s", got)
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, test := range []struct {
		ctx                  context.Context
		url                  string
		configured, attested bool
	}{
		{ctx, "", false, false},
		{baseurl.With(ctx, "http://a", false), "http://a", false, false},
		{baseurl.With(ctx, "http://b", true), "http://b", true, true},
		{baseurl.WithAttested(ctx, "http://c"), "http://c", false, true},
	} {
		if baseurl.From(test.ctx) != test.url || baseurl.Configured(test.ctx) != test.configured || baseurl.Attested(test.ctx) != test.attested {
			t.Errorf("%q: %q %v %v", test.url, baseurl.From(test.ctx), baseurl.Configured(test.ctx), baseurl.Attested(test.ctx))
		}
	}
}

var hostPattern = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[1-9][0-9]{0,4})?$`)

// Whatever a proxy sends, the address is a plain one of http or https that ends in Root;
// whatever a client sends changes nothing.
func FuzzOf(f *testing.F) {
	proxies := parse(f, "10.0.0.0/8")
	f.Add("https, http", "parley.example, b", "443", "/tools", "203.0.113.9, 10.0.0.2", `for="[2001:db8::1]";proto=https;host=parley.example`)
	f.Add("ftp", "a@b/c?d#e", "+1", "//x", ",", `host="a\"b";;,`)
	f.Add("", "", "", "", "", `for=_x;by="";host="\`)
	f.Fuzz(func(t *testing.T, proto, host, port, prefix, from, forwarded string) {
		r := headers{}.request(t, "inner:8080", "10.0.0.1:1")
		for name, value := range map[string]string{
			"X-Forwarded-Proto": proto, "X-Forwarded-Host": host, "X-Forwarded-Port": port,
			"X-Forwarded-Prefix": prefix, "X-Forwarded-For": from, "Forwarded": forwarded,
		} {
			r.Header.Set(name, value)
		}
		got, _ := proxies.Of(r)
		u, err := url.Parse(got)
		if err != nil || u.String() != got || u.Scheme != "http" && u.Scheme != "https" || !hostPattern.MatchString(u.Host) ||
			u.User != nil || u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(u.Path, baseurl.Root) ||
			u.JoinPath().String() != got {
			t.Errorf("%q of %v: %v", got, r.Header, err)
		}
		r.RemoteAddr = "203.0.113.9:1"
		if got, attested := proxies.Of(r); got != "http://inner:8080"+baseurl.Root || attested {
			t.Errorf("a client chose %q: %v", got, r.Header)
		}
	})
}
