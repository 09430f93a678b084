package objects

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// S3Config is the address of a bucket and the keys for it.
type S3Config struct {
	Bucket string
	// Prefix is put before every key, with a slash; "" for none.
	Prefix string
	// Endpoint is the server's http or https address; "" for Amazon's.
	Endpoint string
	// PublicEndpoint is the server's address for clients; "" for Endpoint.
	PublicEndpoint string
	// Region of the bucket; "" to ask Amazon, and us-east-1 elsewhere.
	Region string
	// PathStyle puts the bucket in the path of addresses, not in the host name.
	PathStyle bool

	AccessKey    string
	SecretKey    string
	SessionToken string
}

// ParseURL reads the address of a bucket:
//
//	s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-west-1&path_style=true
//
// Everything but the bucket is optional; public_endpoint can be added. The problems show
// nothing that could be a secret. The caller sets the keys.
func ParseURL(raw string) (cfg S3Config, problems []string) {
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "s3" {
		return S3Config{}, []string{"must be an address such as s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-west-1"}
	}
	if u.User != nil {
		refuse("must not hold keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	cfg.Bucket = u.Host
	if err := s3utils.CheckValidBucketNameStrict(u.Host); err != nil {
		refuse("must name a bucket of 3 to 63 lower-case letters, digits, '-' and '.'")
	}
	if u.Fragment != "" {
		refuse("must not hold '#'")
	}
	cfg.Prefix = strings.Trim(u.Path, "/")
	if cfg.Prefix != "" {
		if problem := CheckKey(cfg.Prefix); problem != "" {
			refuse("has a prefix that %s", problem)
		} else if len(cfg.Prefix) > maxPrefix {
			refuse("has a prefix of more than %d bytes", maxPrefix)
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		refuse("has settings after '?' that cannot be read")
	}
	return cfg, append(problems, cfg.parseSettings(query)...)
}

// maxPrefix, maxKey and the slash make up what S3 allows.
const maxPrefix = 1024 - maxKey - 1

// settingProblems are the settings after '?', with the text for a wrong value.
var settingProblems = map[string]string{
	"endpoint":        "has an endpoint that is not a host or an http or https address without a path",
	"public_endpoint": "has a public_endpoint that is not a host or an http or https address without a path",
	"region":          "has a region that is not of letters, digits and '-'",
	"path_style":      "has a path_style that is not true or false",
}

const regionCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

func (cfg *S3Config) parseSettings(query url.Values) (problems []string) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		ok := false
		switch value := query.Get(name); name {
		case "endpoint":
			cfg.Endpoint, ok = parseEndpoint(value)
		case "public_endpoint":
			cfg.PublicEndpoint, ok = parseEndpoint(value)
		case "region":
			cfg.Region, ok = value, value != "" && strings.Trim(value, regionCharacters) == ""
		case "path_style":
			style, err := strconv.ParseBool(value)
			cfg.PathStyle, ok = style, err == nil
		}
		switch problem, known := settingProblems[name]; {
		case len(query[name]) > 1:
			problems = append(problems, fmt.Sprintf("has %.40q more than once", name))
		case !known:
			problems = append(problems, fmt.Sprintf("has %.40q, and can have endpoint, public_endpoint, region and path_style", name))
		case !ok:
			problems = append(problems, problem)
		}
	}
	return problems
}

// parseEndpoint reads an address; a bare host means https.
func parseEndpoint(text string) (string, bool) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	// The client has its own rules for hosts.
	if _, err := minio.New(u.Host, &minio.Options{}); err != nil {
		return "", false
	}
	return u.Scheme + "://" + u.Host, true
}
