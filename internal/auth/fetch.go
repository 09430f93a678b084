package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Limits of one refresh, discovery included, and of the bytes of a document.
const (
	fetchTimeout = 10 * time.Second
	maxDocument  = 1 << 20
)

// fetch gets the provider's current keys. Unless it is set, their URL is discovered each
// time, since a provider may change it.
func (p *provider) fetch(ctx context.Context) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	address := p.jwksURL
	if address == "" {
		var err error
		if address, err = p.discover(ctx); err != nil {
			return nil, fmt.Errorf("discover the identity provider: %w", err)
		}
	}
	document, err := p.get(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("fetch the identity provider's keys: %w", err)
	}
	keys, err := parseKeySet(document, p.log)
	if err != nil {
		return nil, fmt.Errorf("read the identity provider's keys: %w", err)
	}
	return keys, nil
}

// discover gets the URL of the issuer's keys.
func (p *provider) discover(ctx context.Context) (string, error) {
	document, err := p.get(ctx, strings.TrimSuffix(p.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", err
	}
	var found struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(document, &found); err != nil {
		return "", fmt.Errorf("decode the discovery document: %w", err)
	}
	if found.Issuer != p.issuer {
		return "", fmt.Errorf("it calls itself %.200q, not %q", found.Issuer, p.issuer)
	}
	if !webAddress(found.JWKSURI) {
		return "", fmt.Errorf("the address of its keys is not an http(s) URL: %.200q", found.JWKSURI)
	}
	return found.JWKSURI, nil
}

func (p *provider) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", request.URL.Redacted(), response.StatusCode)
	}
	document, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err == nil && len(document) > maxDocument {
		err = fmt.Errorf("more than %d bytes", maxDocument)
	}
	if err != nil {
		return nil, fmt.Errorf("read the response of %s: %w", request.URL.Redacted(), err)
	}
	return document, nil
}
