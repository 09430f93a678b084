package llm

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"
)

// provider is a service of models.
type provider struct {
	name     string
	needsKey bool
	// home is the default base URL.
	home string
	// address converts a base URL to the form of the client; nil when it need not.
	address func(string) string
	// bearer says that the transport sends the key, since the client does not.
	bearer bool
	// open creates the client, with all options that it would take from the environment.
	open func(model, key, baseURL string, client *http.Client) (llms.Model, error)
	// amend adds what langchaingo cannot express to a request; see [callOptions].
	amend func(request map[string]any, form *shape)
	// readEvent adds an event of a stream to an answer.
	readEvent func(answer *streamed, event []byte) (last bool, err error)
	// ndjson says that streams are lines of JSON, not server-sent events.
	ndjson bool
	// maxTokens limits an answer; 0 for the provider's own limit.
	maxTokens int
}

// providers are in alphabetical order.
var providers = []provider{
	{
		name:     "anthropic",
		needsKey: true,
		home:     "https://api.anthropic.com",
		address:  withV1,
		open: func(model, key, baseURL string, client *http.Client) (llms.Model, error) {
			return anthropic.New(anthropic.WithModel(model), anthropic.WithToken(key), anthropic.WithBaseURL(baseURL), anthropic.WithHTTPClient(client))
		},
		amend:     amendAnthropic,
		readEvent: readAnthropic,
		maxTokens: 4096, // the limit of the oldest models
	},
	// Google's own client would add gRPC and the cloud SDK, four times the size of the
	// others together, and cannot use our transport.
	openAI("googleai", "https://generativelanguage.googleapis.com/v1beta/openai"),
	{
		name:    "ollama",
		home:    "http://127.0.0.1:11434",
		address: withOllamaPort,
		bearer:  true,
		open: func(model, _, baseURL string, client *http.Client) (llms.Model, error) {
			return ollama.New(ollama.WithModel(model), ollama.WithServerURL(baseURL), ollama.WithHTTPClient(client),
				ollama.WithRunnerNumCtx(ollamaContext))
		},
		amend:     amendOllama,
		readEvent: readOllama,
		ndjson:    true,
		maxTokens: 4096,
	},
	openAI("openai", "https://api.openai.com/v1"),
}

// ollamaContext limits a prompt and its answer together, in tokens. By default, Ollama
// drops the beginning of a prompt of more than a few thousand, without an error.
const ollamaContext = 16384

// openAI is a provider with OpenAI's interface.
func openAI(name, home string) provider {
	return provider{
		name:     name,
		needsKey: true,
		home:     home,
		open: func(model, key, baseURL string, client *http.Client) (llms.Model, error) {
			return openai.New(openai.WithModel(model), openai.WithToken(key), openai.WithBaseURL(baseURL),
				openai.WithOrganization(""), openai.WithHTTPClient(client))
		},
		amend:     amendOpenAI,
		readEvent: readOpenAI,
	}
}

func lookup(name string) (provider, bool) {
	i := slices.IndexFunc(providers, func(p provider) bool { return p.name == name })
	if i < 0 {
		return provider{}, false
	}
	return providers[i], true
}

// baseURL completes and checks a base URL. Its error does not quote the text, which may
// have a password.
func (p provider) baseURL(text string) (string, error) {
	text = cmp.Or(strings.TrimSpace(text), p.home)
	if p.address != nil {
		text = p.address(text)
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the base URL must be an http or https address without user, query or fragment")
	}
	return strings.TrimRight(text, "/"), nil
}

// withV1 adds the version: Anthropic's own clients take a base URL without it, langchaingo
// one with it.
func withV1(base string) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1") + "/v1"
}

// withOllamaPort completes a bare host, the form of Ollama's own settings.
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
