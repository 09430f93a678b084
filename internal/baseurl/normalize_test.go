package baseurl_test

import (
	"testing"

	"parley/internal/baseurl"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                                     "",
		"HTTPS://Data.Example.com:443/api/v1/": "https://data.example.com/api/v1",
		"http://data.example.com:80/P/api/v1":  "http://data.example.com/P/api/v1",
		"https://data.example.com:8443/api/v1": "https://data.example.com:8443/api/v1",
		"http://[2001:DB8::80]/api/v1":         "http://[2001:db8::80]/api/v1",
		"https://data.example.com:80/api/v1":   "https://data.example.com:80/api/v1",
	} {
		if got := baseurl.Normalize(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
