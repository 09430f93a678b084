package safehttp

import "net/netip"

// refused4 are the ranges of IPv4 that are not for public hosts: IANA's special-purpose
// registry, multicast and reserved addresses, and hosts of clouds with public addresses
// that only their own machines reach.
var refused4 = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // Azure's platform
	"169.254.0.0/16",   // link-local, most clouds' metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments, Oracle's metadata
	"192.0.2.0/24",     // documentation
	"192.31.196.0/24",  // AS112
	"192.52.193.0/24",  // AMT
	"192.88.99.0/24",   // 6to4 relays
	"192.168.0.0/16",   // private
	"192.175.48.0/24",  // AS112
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
)

// global6 is all that is assigned to hosts of IPv6. Everything else is refused: loopback,
// link-local, site-local and unique local addresses, multicast, and those that hold an
// IPv4 address (compatible, translated, NAT64).
var global6 = netip.MustParsePrefix("2000::/3")

// refused6 are the ranges within global6 that are not for public hosts.
var refused6 = prefixes(
	"2001::/23",         // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4: holds an IPv4 address
	"2620:4f:8000::/48", // AS112
	"3ffe::/16",         // 6bone
	"3fff::/20",         // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// IsPublic reports whether an address may be that of a host on the internet. An IPv4
// address in the form of IPv6 (::ffff:0:0/96) counts as what it is.
func IsPublic(addr netip.Addr) bool {
	if !addr.IsValid() || addr.Zone() != "" {
		return false
	}
	addr = addr.Unmap()
	refused := refused4
	if addr.Is6() {
		if !global6.Contains(addr) {
			return false
		}
		refused = refused6
	}
	for _, prefix := range refused {
		if prefix.Contains(addr) {
			return false
		}
	}
	return true
}
