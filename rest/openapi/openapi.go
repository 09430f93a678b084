// Package openapi describes Parley's interface: as an OpenAPI 3.1 document for programs and
// as a page for people. Both come from openapi.yaml, which is written by hand.
//
// The page needs no script. Redoc, Scalar, RapiDoc, Swagger UI and Elements were tried in its
// place: each breaks the page's Content-Security-Policy or has faults of accessibility.
//
// Package rest serves them, and its tests compare the description with the routes.
package openapi

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"strings"
	"sync"

	"parley/internal/baseurl"
)

// Style is the style sheet of Page, which links to it as docs/style.css.
//
//go:embed style.css
var Style []byte

//go:embed openapi.yaml
var source string

// The addresses in openapi.yaml, which Document replaces.
const (
	anySite = "http://localhost:8080"
	anyBase = anySite + baseurl.Root
	// noAuthURL stays when there is no authorization endpoint.
	noAuthURL = "https://auth.invalid/authorize"
)

// Addresses are the URLs of a server.
type Addresses struct {
	// BaseURL is the public URL of the interface, which ends in /api/v1.
	BaseURL string
	// AuthURL is the identity provider's authorization endpoint; "" for none.
	AuthURL string
}

// Document returns the description for a server, in YAML.
func Document(at Addresses) []byte {
	return []byte(strings.NewReplacer(
		line("url", anyBase), line("url", quoted(at.BaseURL)),
		line("url", anySite), line("url", quoted(strings.TrimSuffix(at.BaseURL, baseurl.Root))),
		line("authorizationUrl", noAuthURL), line("authorizationUrl", quoted(at.authURL())),
	).Replace(source))
}

func (a Addresses) authURL() string {
	if a.AuthURL == "" {
		return noAuthURL
	}
	return a.AuthURL
}

func line(key, value string) string { return " " + key + ": " + value + "\n" }

// quoted returns a text as JSON, which is also YAML: a client can put anything into the
// address of its request.
func quoted(value string) string {
	text, _ := json.Marshal(value) // a string can always be encoded
	return string(text)
}

// Page returns the description for a server as an HTML page.
func Page(at Addresses) ([]byte, error) {
	page, err := rendered()
	return []byte(strings.NewReplacer(
		baseMark, template.HTMLEscapeString(at.BaseURL),
		authMark, template.HTMLEscapeString(at.authURL()),
	).Replace(page)), err
}

// rendered is the page with placeholders for the addresses.
var rendered = sync.OnceValues(func() (string, error) {
	doc, err := parse(source)
	if err != nil {
		return "", err
	}
	return render(doc)
})
