package safehttp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxURL is the longest URL, in bytes.
const maxURL = 2048

// Policy says what may be called.
type Policy struct {
	// Insecure allows plain HTTP, and addresses that are not public.
	Insecure bool
	// Hosts are the only hosts that may be called; none for all. An entry is a name, an
	// address, or *. and a name, for all names below it.
	Hosts []string
}

// CheckURL reads a URL that a stranger gave. The error says, after the name of the field,
// what is wrong with it. What its host resolves to is not checked here.
func (p Policy) CheckURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("must be at most %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return nil, errors.New("must be an address such as https://example.com/notifications")
	}
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !p.Insecure):
		return nil, errors.New("must use https")
	case u.User != nil:
		return nil, errors.New("must not hold a user name or password")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("must not hold a fragment")
	case !isPort(u):
		return nil, errors.New("must have a port from 1 to 65535, or none")
	}
	return u, p.checkHost(u.Hostname())
}

func isPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// checkHost checks a host that is to be dialed or resolved.
func (p Policy) checkHost(host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		if !p.Insecure && !IsPublic(addr) {
			return errors.New("must have a public address")
		}
	} else if !isName(host) {
		return errors.New("must have the name of a host, in ASCII, or an address")
	} else if !p.Insecure && isLocalName(host) {
		return errors.New("must have a public host")
	}
	if !p.listed(host) {
		return errors.New("must have a host that this server may call")
	}
	return nil
}

// isLocalName reports whether a name is one that no public DNS has.
func isLocalName(host string) bool {
	dot := strings.LastIndexByte(host, '.')
	return dot < 0 || slices.Contains([]string{"localhost", "local", "internal", "invalid", "test", "onion"}, strings.ToLower(host[dot+1:]))
}

// isName reports whether a text is a name for the DNS, not a number that resolvers may take
// for an address, such as 2130706433 or 0x7f.1.
func isName(host string) bool {
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, letters+digits+"-_") != "" {
			return false
		}
	}
	return len(host) <= 253 && strings.ContainsRune(letters, rune(labels[len(labels)-1][0]))
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// listed reports whether a host is among those that may be called.
func (p Policy) listed(host string) bool {
	if len(p.Hosts) == 0 {
		return true
	}
	host = strings.ToLower(host)
	for _, entry := range p.Hosts {
		entry = strings.ToLower(entry)
		parent, below := strings.CutPrefix(entry, "*")
		if host == entry || below && strings.HasSuffix(host, parent) && len(host) > len(parent) {
			return true
		}
	}
	return false
}

// CheckHosts reports what is wrong with an entry of Hosts, "" when it is right.
func CheckHosts(entry string) string {
	name := strings.TrimPrefix(entry, "*.")
	if _, err := netip.ParseAddr(entry); err == nil || isName(name) {
		return ""
	}
	return "must be names of hosts, such as example.com, or *.example.com for those below"
}
