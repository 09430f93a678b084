package serve

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"parley/cards"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/internal/safehttp"
	"parley/rest"
	"parley/storage/objects"
	"parley/storage/sqlstore"
	"parley/storage/trace"
)

// Command is `parley serve`. The groups of its settings are those of its help.
type Command struct {
	networkSettings   `group:"Network:"`
	DataSettings      `group:"Storage:"`
	storageSettings   `group:"Storage:"`
	retentionSettings `group:"Retention:"`
	limitSettings     `group:"Limits:"`
	AuthSettings      `group:"Identity:"`
	signInSettings    `group:"Identity:"`
	a2aSettings       `group:"Agent cards and push notifications:"`
	ModelSettings     `group:"Language models:"`
	traceSettings     `group:"Traces:"`
	logSettings       `group:"Log:"`

	// local ignores the variables of OpenTelemetry.
	local bool
}

type networkSettings struct {
	Listen         string        `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"The address to listen on; port 0 picks a free port (${default})."`
	GRPCListen     string        `name:"grpc-listen" placeholder:"HOST:PORT" help:"An additional address for gRPC only. --listen also serves gRPC."`
	BaseURL        string        `placeholder:"URL" help:"The public URL of the interface, ending in /api/v1, if it differs from the URL of requests."`
	TrustedProxies []string      `type:"list" placeholder:"LIST" help:"Addresses and networks whose Forwarded and X-Forwarded headers are trusted, separated by commas."`
	CORSOrigins    []string      `name:"cors-origins" type:"list" placeholder:"LIST" help:"Origins whose pages may call the interface, separated by commas; * for all."`
	DrainDelay     time.Duration `default:"0s" min:"0" placeholder:"DURATION" help:"How long a stopping server still accepts requests while it reports that it is not ready, for load balancers (${default})."`
	DrainTimeout   time.Duration `default:"20s" placeholder:"DURATION" help:"How long running requests may take when the server stops (${default})."`
}

// DataSettings say where the records are stored.
type DataSettings struct {
	Data        string `default:"./parley-data" placeholder:"DIR" help:"The data folder: the embedded database, uploads, datasets, the local signing key (${default})."`
	DatabaseURL string `placeholder:"URL" help:"A PostgreSQL database (postgres://…) for the records, instead of the embedded one."`
}

type storageSettings struct {
	Migrate   bool   `help:"Migrate the schema of a PostgreSQL database first. The embedded database and an empty one are always migrated."`
	Objects   string `placeholder:"URL" help:"A bucket (s3://bucket/prefix?endpoint=…&region=…&path_style=true) for uploads and datasets, instead of the data folder. Its keys are in the AWS_ variables."`
	CacheSize int64  `default:"10737418240" placeholder:"BYTES" help:"The size of the cache for datasets in a bucket, in bytes; it is in the data folder (${default})."`
	MaxUpload int64  `default:"5368709120" placeholder:"BYTES" help:"The largest file that can be uploaded, in bytes (${default})."`
}

type retentionSettings struct {
	KeepEvents time.Duration `type:"age" default:"forever" placeholder:"DURATION" help:"How long all events of an ended run are kept, such as 30d (${default}). A stream that resumes later gets the task instead."`
	KeepRuns   time.Duration `type:"age" default:"forever" placeholder:"DURATION" help:"How long runs and the records of ingestions are kept (${default})."`
}

type limitSettings struct {
	Ingestions   int           `default:"3" placeholder:"N" help:"How many ingestions run at once (${default}). If it is more than two, one user gets all but one."`
	MaxRows      int           `default:"1000" placeholder:"N" help:"The maximum number of rows in a result (${default})."`
	QueryTimeout time.Duration `default:"30s" placeholder:"DURATION" help:"How long a query may take (${default})."`
	RunTimeout   time.Duration `default:"10m" placeholder:"DURATION" help:"How long answering a question may take (${default})."`
}

// AuthSettings say which tokens are valid.
type AuthSettings struct {
	AuthIssuer        string   `placeholder:"URL" help:"The identity provider's issuer. Parley finds its keys by discovery."`
	AuthJWKSURL       string   `name:"auth-jwks-url" placeholder:"URL" help:"The URL of the identity provider's keys, instead of discovery."`
	AuthAudience      string   `placeholder:"TEXT" help:"The audience that tokens must have."`
	AuthUsernameClaim string   `placeholder:"CLAIM" help:"The claim with the username (preferred_username, else sub)."`
	AuthClaims        []string `type:"list" default:"groups" placeholder:"LIST" help:"The claims whose values shares and row rules use, separated by commas. The first has the groups of a user (${default})."`
	AuthSecret        string   `placeholder:"TEXT" help:"A shared secret that signs tokens with HS256. Prefer the variable."`
}

type signInSettings struct {
	AuthClientID string `placeholder:"TEXT" help:"The client id at the identity provider of --auth-issuer, for sign-in on the page. A client secret is in the variable OIDC_CLIENT_SECRET."`
	AuthURL      string `placeholder:"URL" help:"The identity provider's authorization endpoint for the implicit flow: in the OpenAPI document, and on the page if --auth-issuer or --auth-client-id is not set."`
}

// config adds the settings to those of tokens.
func (s signInSettings) config(cfg auth.Config) auth.Config {
	cfg.ClientID, cfg.ClientSecret = s.AuthClientID, os.Getenv("OIDC_CLIENT_SECRET")
	return cfg
}

func (s signInSettings) check(c *command.Checker, tokens AuthSettings) {
	// The implicit flow of --auth-url needs no issuer.
	if s.AuthClientID != "" && s.AuthURL == "" && (tokens.AuthIssuer == "" || tokens.AuthSecret != "") {
		c.Refuse("auth-client-id", "is for sign-in with an identity provider: set --auth-issuer, and not --auth-secret")
	}
}

type a2aSettings struct {
	CardKeys      []string `placeholder:"FILE" help:"Files with private keys (PEM, P-256 or Ed25519) that sign agent cards, separated by commas. The first signs; all are published. By default, Parley creates a key in the database."`
	PushHosts     []string `type:"list" placeholder:"LIST" help:"The only hosts for push notifications, separated by commas; *.example.com for all subdomains. By default, all public hosts."`
	PushInsecure  bool     `help:"Also send push notifications over plain HTTP and to addresses that are not public, for tests and closed networks."`
	EncryptionKey []string `type:"list" placeholder:"TEXT" help:"The key that encrypts the secrets of push notifications in the database, 32 bytes or more. Of several, separated by commas, the first encrypts and all decrypt. Prefer the variable."`
}

// ModelSettings name the language models.
type ModelSettings struct {
	LLM            []string      `name:"llm" type:"list" placeholder:"LIST" help:"Language models (openai:MODEL, anthropic:MODEL, ollama:MODEL, googleai:MODEL), separated by commas; the first is the default. Their keys and addresses are in the providers' variables, such as OPENAI_API_KEY. Without a model, the built-in reader answers."`
	LLMTimeout     time.Duration `name:"llm-timeout" default:"2m" placeholder:"DURATION" help:"How long one call of a language model may take (${default})."`
	LLMConcurrency int           `name:"llm-concurrency" default:"8" placeholder:"N" help:"How many calls of one language model run at once (${default})."`
	ReaderFirst    bool          `name:"reader-first" help:"Answer without a call of a language model if the built-in reader is sure."`
}

// traceSettings are those of Langfuse. The SDK of OpenTelemetry reads its own variables.
type traceSettings struct {
	LangfuseHost      string `env:"LANGFUSE_HOST,LANGFUSE_BASE_URL" placeholder:"URL" help:"A Langfuse server for ratings and traces of runs, such as https://cloud.langfuse.com. The variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, send the traces to another collector."`
	LangfusePublicKey string `env:"LANGFUSE_PUBLIC_KEY" placeholder:"TEXT" help:"Langfuse's public key."`
	LangfuseSecretKey string `env:"LANGFUSE_SECRET_KEY" placeholder:"TEXT" help:"Langfuse's secret key. Prefer the variable."`
}

type logSettings struct {
	LogFormat string     `default:"text" placeholder:"text|json" help:"The format of log lines (${default})."`
	LogLevel  slog.Level `default:"info" placeholder:"debug|info|warn|error" help:"The lowest level to log (${default})."`
}

// limits are those that no setting changes. Tests change them.
var limits = struct {
	// MaxBody is the largest JSON body, MaxRowsBody one with rows, and MaxAttachment the
	// total size of the files of a question over A2A, in bytes.
	MaxBody, MaxRowsBody, MaxAttachment int64
	// UserRuns is how many questions of one user are answered at once. They share the
	// processors, the memory and the calls of the model with those of others, so more would
	// only delay others.
	UserRuns int
	// RequestTimeout is how long handling a request may take, without its query.
	RequestTimeout time.Duration
	// HostLease is how long the runs of a dead process wait for another one.
	HostLease time.Duration
}{MaxBody: 1 << 20, MaxRowsBody: 16 << 20, MaxAttachment: 8 << 20, UserRuns: 8, RequestTimeout: 30 * time.Second, HostLease: 15 * time.Second}

const (
	// maxQueryTimeout is well below the time for which unused files stay.
	maxQueryTimeout = 5 * time.Minute
	// minEncryptionKey is the shortest key, in bytes.
	minEncryptionKey = 32
	// maxKeyFile limits what is read of a key file, in bytes.
	maxKeyFile = 64 << 10
)

// check adds every problem with the settings.
func (s *Command) check(c *command.Checker) {
	s.networkSettings.check(c)
	s.DataSettings.Check(c)
	s.AuthSettings.Check(c)
	s.signInSettings.check(c, s.AuthSettings)
	s.ModelSettings.Check(c)
	c.URL("auth-url", s.AuthURL)
	if s.Objects != "" {
		_, problems := s.bucket()
		for _, problem := range problems {
			c.Refuse("objects", "%s", problem)
		}
	}
	if s.QueryTimeout > maxQueryTimeout {
		c.Refuse("query-timeout", "must be at most %v, not %q", maxQueryTimeout, s.QueryTimeout)
	}
	for _, path := range s.CardKeys {
		if _, err := readCardKey(path); err != nil {
			c.Refuse("card-keys", "must name files with private keys: %v", err)
		}
	}
	for _, host := range s.PushHosts {
		if problem := safehttp.CheckHosts(host); problem != "" {
			c.Refuse("push-hosts", "%s, not %q", problem, host)
		}
	}
	for _, key := range s.EncryptionKey {
		if len(key) < minEncryptionKey {
			// It may be a part of a secret: it is not repeated.
			c.Refuse("encryption-key", "must have %d bytes or more", minEncryptionKey)
		}
	}
	if langfuse := s.langfuse(); langfuse != nil {
		for _, needed := range [][2]string{{"langfuse-host", langfuse.Host}, {"langfuse-public-key", langfuse.PublicKey}, {"langfuse-secret-key", langfuse.SecretKey}} {
			if needed[1] == "" {
				c.Refuse(needed[0], "is missing: Langfuse needs its address and both keys")
			}
		}
		c.PublicURL("langfuse-host", langfuse.Host)
	}
	if s.LogFormat != "text" && s.LogFormat != "json" {
		c.Refuse("log-format", "must be text or json, not %q", s.LogFormat)
	}
}

func (s networkSettings) check(c *command.Checker) {
	if !isAddress(s.Listen) {
		c.Refuse("listen", "must be an address such as 127.0.0.1:8080, not %q", s.Listen)
	}
	if s.GRPCListen != "" && !isAddress(s.GRPCListen) {
		c.Refuse("grpc-listen", "must be an address such as 127.0.0.1:8081, not %q", s.GRPCListen)
	}
	if base := c.URL("base-url", s.BaseURL); base != nil && (!strings.HasSuffix(base.Path, rest.Root) || base.RawQuery != "" || base.Fragment != "") {
		c.Refuse("base-url", "must end in %s, not %q", rest.Root, s.BaseURL)
	}
	for _, proxy := range s.TrustedProxies {
		_, notAddress := netip.ParseAddr(proxy)
		_, notNetwork := netip.ParsePrefix(proxy)
		if notAddress != nil && notNetwork != nil {
			c.Refuse("trusted-proxies", "must be addresses or networks such as 10.0.0.0/8, not %q", proxy)
		}
	}
	for _, origin := range s.CORSOrigins {
		if origin == "*" {
			continue
		}
		if u := c.URL("cors-origins", origin); u != nil && (u.Path != "" || u.RawQuery != "" || u.Fragment != "") {
			c.Refuse("cors-origins", "must be origins such as https://app.example.com, not %q", origin)
		}
	}
}

// isAddress reports whether a text is a host and the number of a port.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	n, notNumber := strconv.ParseUint(port, 10, 16)
	return err == nil && notNumber == nil && strconv.FormatUint(n, 10) == port
}

// answerTimeout is how long handling a request may take, the query included.
func (s *Command) answerTimeout() time.Duration { return limits.RequestTimeout + s.QueryTimeout }

// Check adds the problems with the settings.
func (s DataSettings) Check(c *command.Checker) {
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
}

// Store returns where the records are.
func (s DataSettings) Store() sqlstore.Config {
	return sqlstore.Config{DatabaseURL: s.DatabaseURL, Path: filepath.Join(s.Data, datadir.DatabaseFile)}
}

// bucket returns the bucket of the settings, and what is wrong with them.
func (s storageSettings) bucket() (bucket objects.S3Config, problems []string) {
	bucket, problems = objects.ParseURL(s.Objects)
	bucket.AccessKey, bucket.SecretKey = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	bucket.SessionToken = os.Getenv("AWS_SESSION_TOKEN")
	if bucket.AccessKey == "" || bucket.SecretKey == "" {
		problems = append(problems, "needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	return bucket, problems
}

// UsesLocalKey reports whether tokens are signed with the data folder's own key.
func (s AuthSettings) UsesLocalKey() bool {
	return s.AuthIssuer == "" && s.AuthJWKSURL == "" && s.AuthSecret == ""
}

func (s AuthSettings) config() auth.Config {
	return auth.Config{
		Issuer: s.AuthIssuer, JWKSURL: s.AuthJWKSURL, Audience: s.AuthAudience, UsernameClaim: s.AuthUsernameClaim, Claims: s.AuthClaims,
		Secret: []byte(s.AuthSecret),
	}
}

// Check adds the problems with the settings.
func (s AuthSettings) Check(c *command.Checker) {
	flags := map[string]string{
		"Issuer": "auth-issuer", "JWKSURL": "auth-jwks-url", "Audience": "auth-audience",
		"UsernameClaim": "auth-username-claim", "Claims": "auth-claims", "Secret": "auth-secret",
	}
	for _, problem := range s.config().Problems() {
		c.Refuse(flags[problem.Field], "%s", problem.Message)
	}
}

// Config returns the configuration, with the key of the data folder if that signs tokens.
func (s AuthSettings) Config(data string) (cfg auth.Config, err error) {
	cfg = s.config()
	if s.UsesLocalKey() {
		cfg.LocalKey, err = auth.LoadLocalKey(data)
	}
	return cfg, err
}

// readCardKey reads a key that signs agent cards.
func readCardKey(path string) (cards.Key, error) {
	path = strings.TrimSpace(path)
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxKeyFile) {
		return cards.Key{}, fmt.Errorf("%s is no file of at most %d bytes", path, maxKeyFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return cards.Key{}, err
	}
	key, err := cards.ParseKey(text)
	if err != nil {
		return cards.Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// langfuse returns the settings of Langfuse, nil for none.
func (s traceSettings) langfuse() *trace.LangfuseConfig {
	if s == (traceSettings{}) {
		return nil
	}
	return &trace.LangfuseConfig{Host: s.LangfuseHost, PublicKey: s.LangfusePublicKey, SecretKey: s.LangfuseSecretKey}
}
