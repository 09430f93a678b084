package llm

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"
)

// provider is what differs between those who serve models.
type provider struct {
	name     string
	needsKey bool
	// home is the base URL used when none is set.
	home string
	// address turns a base URL as people write it for this provider into the
	// one that its client wants.
	address func(string) string
	// bearer has the key sent as a bearer token, the client knowing of none.
	bearer bool
	open   func(target) (llms.Model, error)
}

// target is a checked and completed [Config].
type target struct {
	model, key, baseURL string
	client              *http.Client
}

// Each open sets every option that its library would otherwise fill from the
// environment.
var providers = []provider{
	{
		name:     "anthropic",
		needsKey: true,
		home:     "https://api.anthropic.com",
		address:  withV1,
		open: func(t target) (llms.Model, error) {
			return anthropic.New(anthropic.WithModel(t.model), anthropic.WithToken(t.key),
				anthropic.WithBaseURL(t.baseURL), anthropic.WithHTTPClient(t.client))
		},
	},
	{
		name:    "ollama",
		home:    "http://127.0.0.1:11434",
		address: withOllamaPort,
		bearer:  true,
		open: func(t target) (llms.Model, error) {
			return ollama.New(ollama.WithModel(t.model), ollama.WithServerURL(t.baseURL), ollama.WithHTTPClient(t.client))
		},
	},
	{
		name:     "openai",
		needsKey: true,
		home:     "https://api.openai.com/v1",
		address:  func(base string) string { return base },
		open: func(t target) (llms.Model, error) {
			return openai.New(openai.WithModel(t.model), openai.WithToken(t.key), openai.WithBaseURL(t.baseURL),
				openai.WithOrganization(""), openai.WithHTTPClient(t.client))
		},
	},
}

func lookup(name string) (provider, bool) {
	for _, p := range providers {
		if p.name == name {
			return p, true
		}
	}
	return provider{}, false
}

// baseURL completes and checks a base URL. Its error does not quote the text,
// which may hold a password.
func (p provider) baseURL(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = p.home
	}
	text = p.address(text)
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the base URL must be an http or https address without user, query or fragment")
	}
	return strings.TrimRight(text, "/"), nil
}

// withV1 adds the version to a base URL: Anthropic's own clients take it
// without, the one used here with it.
func withV1(base string) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/v1"
}

// withOllamaPort completes a bare host, the form in which Ollama's own
// settings name a server.
func withOllamaPort(base string) string {
	if strings.Contains(base, "://") {
		return base
	}
	base = strings.TrimRight(base, "/")
	if _, _, err := net.SplitHostPort(base); err != nil {
		base = net.JoinHostPort(strings.Trim(base, "[]"), "11434")
	}
	return "http://" + base
}
