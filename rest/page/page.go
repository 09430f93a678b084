// Package page serves the web page at "/": the files that Vite builds from the TypeScript
// beside it, with headers that make a browser run nothing else. The page uses the public
// interface, like every other client.
package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

//go:embed all:dist
var dist embed.FS

// Config has the settings of the page.
type Config struct {
	// AuthURL is the identity provider's authorization endpoint; "" for none.
	AuthURL string `json:"authURL"`
	// SignsIn says that the server signs browsers in. Otherwise the page can, at AuthURL.
	SignsIn bool `json:"signsIn"`
	// ClientID is the client id of the page at the identity provider.
	ClientID string `json:"clientID"`
	// UsernameClaim is the claim with a token's username; "" for the default.
	UsernameClaim string `json:"usernameClaim"`
	// UploadOrigin returns the origin, other than the page's own, of upload URLs; nil when
	// uploads go to this server.
	UploadOrigin func(ctx context.Context) (string, error) `json:"-"`
}

// placeholder is replaced by the settings in index.html.
const placeholder = `<meta name="parley" content="{}">`

// Page serves the files.
type Page struct {
	files        map[string]file
	uploadOrigin func(ctx context.Context) (string, error)
	asking       singleflight.Group
	origin       atomic.Pointer[string] // what uploadOrigin returned
}

var _ http.Handler = (*Page)(nil)

type file struct {
	mediaType string
	etag      string
	plain     []byte
	gzipped   func() []byte
}

const indexFile = "dist/index.html"

// assets are the files but for index.html, by path. Each is compressed when somebody first
// asks for it, so that a server starts at once.
var assets = sync.OnceValues(func() (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == indexFile {
			return err
		}
		content, err := dist.ReadFile(name)
		files[strings.TrimPrefix(name, "dist")] = newFile(name, content)
		return err
	})
	return files, err
})

// New returns a Page.
func New(cfg Config) (*Page, error) {
	files, err := assets()
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	content, err := dist.ReadFile(indexFile)
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	if content, err = cfg.insertInto(content); err != nil {
		return nil, err
	}
	p := &Page{files: maps.Clone(files), uploadOrigin: cfg.UploadOrigin}
	p.files["/"] = newFile(indexFile, content)
	return p, nil
}

// insertInto adds the settings to index.html, as data.
func (c Config) insertInto(index []byte) ([]byte, error) {
	settings, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	if bytes.Count(index, []byte(placeholder)) != 1 {
		return nil, errors.New("index.html has no placeholder for the settings")
	}
	meta := `<meta name="parley" content="` + html.EscapeString(string(settings)) + `">`
	return bytes.Replace(index, []byte(placeholder), []byte(meta), 1), nil
}

func newFile(name string, content []byte) file {
	sum := sha256.Sum256(content)
	gzipped := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that exists
		_, _ = w.Write(content)                               // a buffer takes everything
		_ = w.Close()
		return b.Bytes()
	})
	return file{mediaType: mediaType(name), etag: hex.EncodeToString(sum[:16]), plain: content, gzipped: gzipped}
}

// mediaTypes do not depend on the machine's settings.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func mediaType(name string) string {
	if known, ok := mediaTypes[path.Ext(name)]; ok {
		return known
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Paths returns the paths of the files.
func (p *Page) Paths() []string { return slices.Sorted(maps.Keys(p.files)) }

// ServeHTTP answers GET and HEAD for one of Paths. The name of an asset has a hash of its
// content, so it is cached for good; "/" is revalidated.
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
		header.Set("Content-Security-Policy", policy(strings.TrimSpace("'self' "+p.originOfUploads(r.Context()))))
	}
	header.Set("Vary", "Accept-Encoding")
	content, etag := f.plain, f.etag
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		content, etag = f.gzipped(), f.etag+"-gzip"
	}
	header.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// policy lets the page load its own files and connect to some origins.
func policy(connect string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src " + connect +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// originTimeout limits how long the page waits for the origin of uploads.
const originTimeout = 3 * time.Second

// originOfUploads returns the origin of upload URLs, "" when there is none or it is not
// available: then uploads fail until the page is loaded again.
func (p *Page) originOfUploads(ctx context.Context) string {
	if p.uploadOrigin == nil {
		return ""
	}
	if known := p.origin.Load(); known != nil {
		return *known
	}
	found, err, _ := p.asking.Do("", func() (any, error) {
		// Other requests wait for it too, so it does not end with the first one.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), originTimeout)
		defer cancel()
		return p.uploadOrigin(ctx)
	})
	if err != nil {
		return ""
	}
	origin := found.(string)
	p.origin.Store(&origin)
	return origin
}
