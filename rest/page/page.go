// Package page is the page at "/" for people: the files that Vite has made of the
// TypeScript beside it, and the headers that keep a browser from running anything
// else. The page uses the public interface, like every other client.
package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

// Config is what the page is told of the server, and the browser of the page.
type Config struct {
	// AuthURL is the identity provider's authorization endpoint; "" for none.
	AuthURL string `json:"authURL"`
	// ClientID is what the page is called at the identity provider.
	ClientID string `json:"clientID"`
	// UsernameClaim is the claim that names a token's user; "" for the usual ones.
	UsernameClaim string `json:"usernameClaim"`
	// UploadOrigin gives the origin, other than the page's own, that parts of
	// uploads go to; nil where they come here.
	UploadOrigin func(ctx context.Context) (string, error) `json:"-"`
}

// placeholder is where index.html says what it is told.
const placeholder = `<meta name="parley" content="{}">`

// Page serves the files.
type Page struct {
	files   map[string]file
	uploads uploads
}

var _ http.Handler = (*Page)(nil)

type file struct {
	mediaType     string
	etag          string
	plain, packed []byte
}

// New makes a Page.
func New(cfg Config) (*Page, error) {
	p := &Page{files: map[string]file{}, uploads: uploads{ask: cfg.UploadOrigin}}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(name, "dist")
		if at == "/index.html" {
			at = "/"
			if content, err = cfg.tell(content); err != nil {
				return err
			}
		}
		p.files[at], err = newFile(name, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return p, nil
}

// tell puts the settings into index.html, as data.
func (c Config) tell(index []byte) ([]byte, error) {
	settings, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if bytes.Count(index, []byte(placeholder)) != 1 {
		return nil, fmt.Errorf("index.html has no place for settings")
	}
	meta := `<meta name="parley" content="` + html.EscapeString(string(settings)) + `">`
	return bytes.Replace(index, []byte(placeholder), []byte(meta), 1), nil
}

func newFile(name string, content []byte) (file, error) {
	sum := sha256.Sum256(content)
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return file{}, err
	}
	if _, err := w.Write(content); err != nil {
		return file{}, err
	}
	if err := w.Close(); err != nil {
		return file{}, err
	}
	return file{
		mediaType: mediaType(name),
		etag:      hex.EncodeToString(sum[:16]),
		plain:     content,
		packed:    packed.Bytes(),
	}, nil
}

// mediaType does not depend on what the machine knows of extensions.
func mediaType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".html", ".css", ".js":
		return map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript"}[ext] + "; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return mime.TypeByExtension(ext)
	}
}

// Paths lists the paths that there is a file at.
func (p *Page) Paths() []string {
	paths := make([]string, 0, len(p.files))
	for at := range p.files {
		paths = append(paths, at)
	}
	return paths
}

// ServeHTTP answers GET and HEAD for one of Paths. Names of assets come from what
// is in them, so they may be kept for good; "/" is to be asked for each time.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", f.mediaType)
	header.Set("Content-Security-Policy", policy("'self'"))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	if r.URL.Path == "/" {
		header.Set("Cache-Control", "no-cache")
		header.Set("Content-Security-Policy", policy(strings.TrimSpace("'self' "+p.uploads.origin(r.Context()))))
	}
	header.Set("Vary", "Accept-Encoding")
	content, etag := f.plain, f.etag
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		content, etag = f.packed, f.etag+"-gzip"
	}
	header.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// policy lets the page load its own files, and talk to some origins.
func policy(connect string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
