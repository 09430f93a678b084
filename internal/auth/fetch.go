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

const (
	// fetchTimeout bounds one refresh, discovery and keys together.
	fetchTimeout = 10 * time.Second
	// maxDocument is the most bytes that are read of a provider's answer.
	maxDocument = 1 << 20
	// discoveryPath is where OpenID Connect providers describe themselves.
	discoveryPath = "/.well-known/openid-configuration"
)

// fetch gets the provider's keys as they are now. Their address is discovered
// anew each time unless it is set, as a provider may move it.
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

// discover gives the address at which the issuer says that its keys are.
func (p *provider) discover(ctx context.Context) (string, error) {
	document, err := p.get(ctx, strings.TrimSuffix(p.issuer, "/")+discoveryPath)
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
		return nil, fmt.Errorf("make a request: %w", err)
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
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", request.URL.Redacted(), err)
	}
	if len(document) > maxDocument {
		return nil, fmt.Errorf("%s answered more than %d bytes", request.URL.Redacted(), maxDocument)
	}
	return document, nil
}
