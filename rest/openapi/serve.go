package openapi

import (
	"github.com/gin-gonic/gin"

	"parley/internal/baseurl"
	"parley/internal/etag"
)

// docsPolicy lets the documentation page load its style sheet only.
const docsPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Docs serves the document and its page.
type Docs struct {
	// AuthURL is the address of the identity provider; see Addresses.
	AuthURL string
}

// Document serves the document.
func (d Docs) Document(c *gin.Context) error {
	serveCached(c, "application/yaml", Document(d.addresses(c)))
	return nil
}

// Page serves the documentation page.
func (d Docs) Page(c *gin.Context) error {
	html, err := Page(d.addresses(c))
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", docsPolicy)
	c.Header("Referrer-Policy", "no-referrer")
	serveCached(c, "text/html; charset=utf-8", html)
	return nil
}

// Style serves the style sheet of the page.
func (d Docs) Style(c *gin.Context) error {
	serveCached(c, "text/css; charset=utf-8", Style)
	return nil
}

func (d Docs) addresses(c *gin.Context) Addresses {
	return Addresses{BaseURL: baseurl.From(c.Request.Context()), AuthURL: d.AuthURL}
}

// serveCached serves a text that clients revalidate.
func serveCached(c *gin.Context, mediaType string, text []byte) {
	etag.Serve(c.Writer, c.Request, mediaType, "no-cache", text)
}
