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
		found, err := p.discover(ctx)
		if err != nil {
			return nil, err
		}
		address = found.JWKSURI
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

// discovery is what Parley uses of a provider's discovery document.
type discovery struct {
	Issuer      string   `json:"issuer"`
	JWKSURI     string   `json:"jwks_uri"`
	AuthURL     string   `json:"authorization_endpoint"`
	TokenURL    string   `json:"token_endpoint"`
	EndSession  string   `json:"end_session_endpoint"`
	Revocation  string   `json:"revocation_endpoint"`
	Scopes      []string `json:"scopes_supported"`
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
}

// discover gets the issuer's discovery document.
func (p *provider) discover(ctx context.Context) (*discovery, error) {
	found, err := p.getDiscovery(ctx)
	if err != nil {
		return nil, fmt.Errorf("discover the identity provider: %w", err)
	}
	p.discovered.Store(found)
	return found, nil
}

func (p *provider) getDiscovery(ctx context.Context) (*discovery, error) {
	document, err := p.get(ctx, strings.TrimSuffix(p.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, err
	}
	found := &discovery{}
	if err := json.Unmarshal(document, found); err != nil {
		return nil, fmt.Errorf("decode the discovery document: %w", err)
	}
	if found.Issuer != p.issuer {
		return nil, fmt.Errorf("it calls itself %.200q, not %q", found.Issuer, p.issuer)
	}
	if !webAddress(found.JWKSURI) {
		return nil, fmt.Errorf("the address of its keys is not an http(s) URL: %.200q", found.JWKSURI)
	}
	return found, nil
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
