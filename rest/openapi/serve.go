package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/baseurl"
	"parley/rest/openapi"
	"parley/rest/page"
)

// docsPolicy lets the documentation page load its style sheet only.
const docsPolicy = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Server) getOpenAPI(c *gin.Context) error {
	serveCached(c, "application/yaml", openapi.Document(s.addresses(c)))
	return nil
}

func (s *Server) getDocs(c *gin.Context) error {
	html, err := openapi.Page(s.addresses(c))
	if err != nil {
		return err
	}
	c.Header("Content-Security-Policy", docsPolicy)
	c.Header("Referrer-Policy", "no-referrer")
	serveCached(c, "text/html; charset=utf-8", html)
	return nil
}

func (s *Server) getDocsStyle(c *gin.Context) error {
	serveCached(c, "text/css; charset=utf-8", openapi.Style)
	return nil
}

func (s *Server) addresses(c *gin.Context) openapi.Addresses {
	return openapi.Addresses{BaseURL: baseurl.From(c.Request.Context()), AuthURL: s.cfg.Page.AuthURL}
}

// serveCached serves a text with an ETag, to be revalidated.
func serveCached(c *gin.Context, mediaType string, text []byte) {
	sum := sha256.Sum256(text)
	c.Header("Content-Type", mediaType)
	c.Header("Cache-Control", "no-cache")
	c.Header("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
	http.ServeContent(c.Writer, c.Request, "", time.Time{}, bytes.NewReader(text))
}

// servePage routes the web page, which is public: its files are the same for everybody.
func (s *Server) servePage() error {
	files, err := page.New(s.cfg.Page)
	if err != nil {
		return err
	}
	for _, path := range files.Paths() {
		s.engine.GET(path, gin.WrapH(files))
		s.engine.HEAD(path, gin.WrapH(files))
	}
	return nil
}
