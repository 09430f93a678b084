package safehttp

import (
	"net/netip"
	"strings"
	"testing"
)

func TestIsPublic(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "169.253.255.255", "192.0.1.1",
		"198.17.0.1", "198.20.0.1", "223.255.255.255", "168.63.129.15", "::ffff:8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001::1",
		"2001:200::1", "2003::1",
	} {
		if !IsPublic(netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
	for _, text := range []string{
		// IPv4, with both ends of some ranges.
		"0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.8.8.8",
		"168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1",
		"192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
		"255.255.255.255",
		// IPv4 within IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8", "::ffff:0:8.8.8.8",
		"64:ff9b::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:0:7f00:1::",
		// IPv6.
		"::", "::1", "fe80::1", "febf::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "fdff::1", "ff02::1", "100::1",
		"2001:db8::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:1ff::1", "3fff::1", "3ffe::1", "5f00::1", "4000::1", "2620:4f:8000::1",
	} {
		if IsPublic(netip.MustParseAddr(text)) {
			t.Errorf("%s is allowed", text)
		}
	}
	if IsPublic(netip.Addr{}) {
		t.Error("no address is allowed")
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	public, insecure := Policy{}, Policy{Insecure: true}
	listed := Policy{Hosts: []string{"hooks.example.com", "*.example.org", "1.1.1.1"}}
	for _, test := range []struct {
		policy Policy
		url    string
		want   string // part of the problem; "" for none
	}{
		{public, "https://example.com/hook?a=b", ""},
		{public, "HTTPS://EXAMPLE.com:8443", ""},
		{public, "https://xn--bcher-kva.example/", ""},
		{public, "https://1.1.1.1/", ""},
		{public, "https://[2606:4700:4700::1111]/", ""},
		{public, "", "an address such as"},
		{public, "/hook", "an address such as"},
		{public, "https:", "an address such as"},
		{public, "https:example.com", "an address such as"},
		{public, "https://", "an address such as"},
		{public, "https://:443/", "an address such as"},
		{public, "https://exa mple.com/", "an address such as"},
		{public, "https://example.com\n/", "an address such as"},
		{public, "https://example.com\\@127.0.0.1/", "an address such as"},
		{public, "//example.com/", "https"},
		{public, "http://example.com/", "https"},
		{public, "ftp://example.com/", "https"},
		{public, "file://example.com/etc/passwd", "https"},
		{public, "gopher://example.com/", "https"},
		{public, "https://user@example.com/", "user name"},
		{public, "https://user:word@example.com/", "user name"},
		{public, "https://example.com@127.0.0.1/", "user name"},
		{public, "https://example.com/#part", "fragment"},
		{public, "https://example.com/#", "fragment"},
		{public, "https://example.com:0/", "port"},
		{public, "https://example.com:/", "port"},
		{public, "https://example.com:65536/", "port"},
		{public, "https://localhost/", "public host"},
		{public, "https://a.Localhost/", "public host"},
		{public, "https://metadata.google.internal/", "public host"},
		{public, "https://metadata/", "public host"},
		{public, "https://127.0.0.1/", "public address"},
		{public, "https://169.254.169.254/latest/meta-data", "public address"},
		{public, "https://[::1]/", "public address"},
		{public, "https://[::ffff:127.0.0.1]/", "public address"},
		{public, "https://[fe80::1%25eth0]/", "public address"},
		{public, "https://2130706433/", "name of a host"},
		{public, "https://0x7f000001/", "name of a host"},
		{public, "https://0177.0.0.1/", "name of a host"},
		{public, "https://127.1/", "name of a host"},
		{public, "https://0x7f.1/", "name of a host"},
		{public, "https://127.0.0.1./", "name of a host"},
		{public, "https://example.com./", "name of a host"},
		{public, "https://ex%61mple.com/", "an address such as"},
		{public, "https://１２７.0.0.1/", "name of a host"},
		{public, "https://bücher.example/", "name of a host"},
		{public, "https://" + strings.Repeat("a", 64) + ".com/", "name of a host"},
		{public, "https://example.com/" + strings.Repeat("a", maxURL), "at most"},
		{insecure, "http://127.0.0.1:8080/hook", ""},
		{insecure, "http://localhost:8080/hook", ""},
		{insecure, "http://[::1]/", ""},
		{insecure, "file:///etc/passwd", "an address such as"},
		{insecure, "http://2130706433/", "name of a host"},
		{listed, "https://hooks.example.com/", ""},
		{listed, "https://HOOKS.example.com/", ""},
		{listed, "https://a.example.org/", ""},
		{listed, "https://a.b.example.org/", ""},
		{listed, "https://1.1.1.1/", ""},
		{listed, "https://example.org/", "may call"},
		{listed, "https://.example.org/", "name of a host"},
		{listed, "https://badexample.org/", "may call"},
		{listed, "https://example.com/", "may call"},
		{listed, "https://hooks.example.com.evil.net/", "may call"},
		{listed, "https://8.8.8.8/", "may call"},
	} {
		u, err := test.policy.CheckURL(test.url)
		switch {
		case test.want == "" && (err != nil || u == nil):
			t.Errorf("%q: %v", test.url, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%q: %v, want %q", test.url, err, test.want)
		}
	}
}

func TestCheckHosts(t *testing.T) {
	t.Parallel()
	for entry, ok := range map[string]bool{
		"example.com": true, "*.example.com": true, "10.0.0.1": true, "::1": true, "hooks": true,
		"": false, "*": false, "*.": false, "https://example.com": false, "example.com/": false, "*example.com": false, "10.0.0.0/8": false,
	} {
		if problem := CheckHosts(entry); (problem == "") != ok {
			t.Errorf("%q: %q", entry, problem)
		}
	}
}

// FuzzIsPublic checks that no way to write an address makes a special one public.
func FuzzIsPublic(f *testing.F) {
	for _, text := range []string{"127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "fe80::1%lo", "8.8.8.8", "2001:db8::"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		addr, err := netip.ParseAddr(text)
		if err != nil || !IsPublic(addr) {
			return
		}
		plain := addr.Unmap()
		if addr.Zone() != "" || plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() || plain.IsMulticast() ||
			plain.IsUnspecified() || plain.IsInterfaceLocalMulticast() || !plain.IsGlobalUnicast() {
			t.Errorf("%s is allowed", text)
		}
		if plain.Is6() {
			// None that holds an IPv4 address is left.
			bytes := plain.As16()
			if bytes[0] == 0 || bytes[0] == 0x20 && (bytes[1] == 0x02 || bytes[1] == 0x01 && bytes[2]|bytes[3] == 0) {
				t.Errorf("%s is allowed", text)
			}
			return
		}
		// The other ways to write it say the same.
		if !IsPublic(netip.AddrFrom16(plain.As16())) || IsPublic(plain) != IsPublic(addr) {
			t.Errorf("%s depends on how it is written", text)
		}
	})
}

// FuzzCheckURL checks that what is accepted has a host that cannot be taken for another.
func FuzzCheckURL(f *testing.F) {
	for _, text := range []string{"https://example.com/a?b", "https://user@127.0.0.1/", "https://[::1]:443/", "https://0x7f.1/", "https://a\\@b/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Policy{}.CheckURL(text)
		if err != nil {
			return
		}
		host := u.Hostname()
		if u.Scheme != "https" || u.User != nil || strings.ContainsAny(host, "@/\\#?% ") {
			t.Errorf("%q has host %q", text, host)
		}
		if addr, err := netip.ParseAddr(host); err == nil && !IsPublic(addr) {
			t.Errorf("%q is allowed", text)
		}
		if again, err := (Policy{}).CheckURL(u.String()); err != nil || again.Host != u.Host {
			t.Errorf("%q is %q when written again: %v", text, u, err)
		}
	})
}
