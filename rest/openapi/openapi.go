// Package openapi describes Parley's whole interface, in the form of OpenAPI
// 3.1 for programs and as a page for people. Both are made of openapi.yaml,
// which is written by hand.
//
// It serves nothing: rest does, and its tests hold the description against what
// there is.
package openapi

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"strings"
	"sync"

	"parley/internal/baseurl"
)

// Style is the style sheet of Page, which looks for it at docs/style.css.
//
//go:embed style.css
var Style []byte

//go:embed openapi.yaml
var source string

// What stands in openapi.yaml where the addresses of a server go.
const (
	anySite = "http://localhost:8080"
	anyBase = anySite + baseurl.Root
	// noAuthURL stays where there is no authorization endpoint.
	noAuthURL = "https://auth.invalid/authorize"
)

// Addresses are what differs from one server to the next.
type Addresses struct {
	// BaseURL is the public address of the interface, which ends in /api/v1.
	BaseURL string
	// AuthURL is the identity provider's authorization endpoint; "" for none.
	AuthURL string
}

// Document gives the description for a server, in YAML.
func Document(at Addresses) []byte {
	filled := strings.NewReplacer(
		line("url", anyBase), line("url", quoted(at.BaseURL)),
		line("url", anySite), line("url", quoted(strings.TrimSuffix(at.BaseURL, baseurl.Root))),
		line("authorizationUrl", noAuthURL), line("authorizationUrl", quoted(at.authURL())),
	).Replace(source)
	return []byte(filled)
}

func (a Addresses) authURL() string {
	if a.AuthURL == "" {
		return noAuthURL
	}
	return a.AuthURL
}

func line(key, value string) string { return " " + key + ": " + value + "\n" }

// quoted gives a text as JSON, which is YAML too, whatever a client has put into
// the address that it came in on.
func quoted(value string) string {
	text, _ := json.Marshal(value) // a string can always be encoded
	return string(text)
}

// Page gives the description for a server as a page of HTML that needs nothing
// but its style sheet.
func Page(at Addresses) ([]byte, error) {
	page, err := rendered()
	if err != nil {
		return nil, err
	}
	filled := strings.NewReplacer(
		baseMark, template.HTMLEscapeString(at.BaseURL),
		authMark, template.HTMLEscapeString(at.authURL()),
	).Replace(page)
	return []byte(filled), nil
}

// rendered is the page with marks for the addresses, made once.
var rendered = sync.OnceValues(func() (string, error) {
	doc, err := parse(source)
	if err != nil {
		return "", err
	}
	return render(doc)
})
