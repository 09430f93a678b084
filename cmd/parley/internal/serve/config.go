package serve

import (
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/rest"
	"parley/storage/sqlstore"
)

// config is the settings of a server, parsed.
type config struct {
	data      string
	version   string
	logLevel  slog.Level
	http      httpConfig
	store     sqlstore.Config
	migrate   bool
	auth      auth.Config
	localKey  bool // tokens are signed with the data folder's own key
	objects   objectConfig
	lake      lakeConfig
	retention retentionConfig
	agents    agentConfig
	push      pushConfig
	cards     cardConfig
	models    modelConfig
	trace     traceConfig
}

func (s *Command) read(c *command.Checker, version string) config {
	return config{
		data:      s.Data,
		version:   version,
		http:      s.httpSettings.read(c),
		store:     s.DataSettings.Read(c),
		auth:      s.AuthSettings.Read(c),
		localKey:  s.UsesLocalKey(),
		logLevel:  s.logSettings.read(c),
		objects:   s.objectSettings.read(c),
		lake:      s.lakeSettings.read(c),
		trace:     s.traceSettings.read(c, version),
		models:    s.ModelSettings.read(c),
		agents:    s.agentSettings.read(c),
		push:      s.pushSettings.read(c),
		cards:     s.cardSettings.read(c),
		migrate:   c.Bool("migrate", s.Migrate),
		retention: s.retentionSettings.read(c),
	}
}

// answerTimeout is how long handling a request may take, the query included.
func (c config) answerTimeout() time.Duration { return c.http.requestTimeout + c.lake.queryTimeout }

// list splits a text at its commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// DataSettings say where the records are stored.
type DataSettings struct {
	Data        string `default:"./parley-data" placeholder:"DIR" help:"The data folder: the embedded database, uploads, datasets, the local signing key (${default})."`
	DatabaseURL string `placeholder:"URL" help:"A PostgreSQL database (postgres://…) for the records, instead of the embedded one."`
}

// Read checks the settings and returns where the records are.
func (s DataSettings) Read(c *command.Checker) sqlstore.Config {
	if s.Data == "" {
		c.Refuse("data", "must name a folder")
	}
	if s.DatabaseURL != "" {
		u, err := url.Parse(s.DatabaseURL)
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			// The text may hold a password: it is not repeated.
			c.Refuse("database-url", "must be an address such as postgres://user:password@host:5432/database")
		}
	}
	return sqlstore.Config{DatabaseURL: s.DatabaseURL, Path: filepath.Join(s.Data, datadir.DatabaseFile)}
}

// AuthSettings say which tokens are valid.
type AuthSettings struct {
	AuthIssuer        string `placeholder:"URL" help:"The identity provider's issuer. Parley finds its keys by discovery."`
	AuthJWKSURL       string `name:"auth-jwks-url" placeholder:"URL" help:"The URL of the identity provider's keys, instead of discovery."`
	AuthAudience      string `placeholder:"TEXT" help:"The audience that tokens must have."`
	AuthUsernameClaim string `placeholder:"CLAIM" help:"The claim with the username (preferred_username, else sub)."`
	AuthSecret        string `placeholder:"TEXT" help:"A shared secret that signs tokens with HS256. Prefer the variable."`
}

// UsesLocalKey reports whether tokens are signed with the data folder's own key.
func (s AuthSettings) UsesLocalKey() bool {
	return s.AuthIssuer == "" && s.AuthJWKSURL == "" && s.AuthSecret == ""
}

// Read returns the configuration, but for the local key.
func (s AuthSettings) Read(c *command.Checker) auth.Config {
	cfg := auth.Config{
		Issuer:        s.AuthIssuer,
		JWKSURL:       s.AuthJWKSURL,
		Audience:      s.AuthAudience,
		UsernameClaim: s.AuthUsernameClaim,
		Secret:        []byte(s.AuthSecret),
	}
	flags := map[string]string{
		"Issuer": "auth-issuer", "JWKSURL": "auth-jwks-url", "Audience": "auth-audience",
		"UsernameClaim": "auth-username-claim", "Secret": "auth-secret",
	}
	for _, problem := range cfg.Problems() {
		c.Refuse(flags[problem.Field], "%s", problem.Message)
	}
	return cfg
}

// httpSettings configure the HTTP server.
type httpSettings struct {
	Listen         string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"The address to listen on; port 0 picks a free port (${default})."`
	GRPCListen     string `name:"grpc-listen" placeholder:"HOST:PORT" help:"An additional address for gRPC only. --listen also serves gRPC."`
	GRPCAddress    string `name:"grpc-address" placeholder:"HOST:PORT" help:"The public address of gRPC for agent cards, if it differs from the address of requests."`
	BaseURL        string `placeholder:"URL" help:"The public URL of the interface, ending in /api/v1, if it differs from the URL of requests."`
	AuthURL        string `placeholder:"URL" help:"The identity provider's authorization endpoint, for sign-in on the page."`
	AuthClientID   string `default:"parley" placeholder:"TEXT" help:"The page's client id at the identity provider (${default})."`
	TrustedProxies string `placeholder:"LIST" help:"Addresses and networks whose Forwarded and X-Forwarded headers are trusted, separated by commas."`
	CORSOrigins    string `name:"cors-origins" placeholder:"LIST" help:"Origins whose pages may call the interface, separated by commas; * for all."`
	MaxBody        string `default:"1048576" placeholder:"BYTES" help:"The largest JSON body in bytes (${default})."`
	RequestTimeout string `default:"30s" placeholder:"DURATION" help:"How long handling a request may take, without its query (${default})."`
	DrainDelay     string `default:"0s" placeholder:"DURATION" help:"How long a stopping server still accepts requests while it reports that it is not ready, for load balancers (${default})."`
	DrainTimeout   string `default:"20s" placeholder:"DURATION" help:"How long running requests may take when the server stops (${default})."`
}

// httpConfig is httpSettings, parsed.
type httpConfig struct {
	listen                                   string
	grpcListen, grpcAddress                  string
	baseURL                                  string
	authURL, authClientID                    string
	trustedProxies, corsOrigins              []string
	maxBody                                  int64
	requestTimeout, drainDelay, drainTimeout time.Duration
}

func (s httpSettings) read(c *command.Checker) httpConfig {
	if _, port, err := net.SplitHostPort(s.Listen); err != nil || !isPort(port) {
		c.Refuse("listen", "must be an address such as 127.0.0.1:8080, not %q", s.Listen)
	}
	for _, setting := range [][2]string{{"grpc-listen", s.GRPCListen}, {"grpc-address", s.GRPCAddress}} {
		name, address := setting[0], setting[1]
		if _, port, err := net.SplitHostPort(address); address != "" && (err != nil || !isPort(port)) {
			c.Refuse(name, "must be an address such as 127.0.0.1:8081, not %q", address)
		}
	}
	if base := c.URL("base-url", s.BaseURL); base != nil && (!strings.HasSuffix(base.Path, rest.Root) || base.RawQuery != "" || base.Fragment != "") {
		c.Refuse("base-url", "must end in %s, not %q", rest.Root, s.BaseURL)
	}
	c.URL("auth-url", s.AuthURL)
	for _, proxy := range list(s.TrustedProxies) {
		_, notAddress := netip.ParseAddr(proxy)
		_, notNetwork := netip.ParsePrefix(proxy)
		if notAddress != nil && notNetwork != nil {
			c.Refuse("trusted-proxies", "must be addresses or networks such as 10.0.0.0/8, not %q", proxy)
		}
	}
	for _, origin := range list(s.CORSOrigins) {
		if origin == "*" {
			continue
		}
		if u := c.URL("cors-origins", origin); u != nil && (u.Path != "" || u.RawQuery != "" || u.Fragment != "") {
			c.Refuse("cors-origins", "must be origins such as https://app.example.com, not %q", origin)
		}
	}
	return httpConfig{
		listen:         s.Listen,
		grpcListen:     s.GRPCListen,
		grpcAddress:    s.GRPCAddress,
		baseURL:        s.BaseURL,
		authURL:        s.AuthURL,
		authClientID:   s.AuthClientID,
		trustedProxies: list(s.TrustedProxies),
		corsOrigins:    list(s.CORSOrigins),
		drainDelay:     c.DurationOrZero("drain-delay", s.DrainDelay),
		drainTimeout:   c.Duration("drain-timeout", s.DrainTimeout),
		maxBody:        c.Bytes("max-body", s.MaxBody),
		requestTimeout: c.Duration("request-timeout", s.RequestTimeout),
	}
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == text
}

// logSettings configure the log.
type logSettings struct {
	LogFormat string `default:"text" placeholder:"text|json" help:"The format of log lines (${default})."`
	LogLevel  string `default:"info" placeholder:"debug|info|warn|error" help:"The lowest level to log (${default})."`
}

func (s logSettings) read(c *command.Checker) slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(s.LogLevel)) != nil {
		c.Refuse("log-level", "must be debug, info, warn or error, not %q", s.LogLevel)
	}
	if s.LogFormat != "text" && s.LogFormat != "json" {
		c.Refuse("log-format", "must be text or json, not %q", s.LogFormat)
	}
	return level
}
