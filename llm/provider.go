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
	// amend puts what is wanted of an answer into a request; see [callOptions].
	amend func(fields, string, callOptions)
	// assemble starts a whole answer, to be made of a streamed one.
	assemble func() assembler
	// maxTokens bounds an answer where the provider needs to be told, or would
	// not come to an end; 0 leaves it to the provider.
	maxTokens int
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
		amend:    amendAnthropic,
		assemble: func() assembler { return &anthropicAnswer{} },
		// The oldest models that are served write no more.
		maxTokens: 4096,
	},
	{
		// Through the interface that Google serves for OpenAI's clients: its own
		// client would bring gRPC and the cloud SDK with it, four times the size
		// of the others together, and not take the transport that every call has
		// to pass.
		name:     "googleai",
		needsKey: true,
		home:     "https://generativelanguage.googleapis.com/v1beta/openai",
		address:  func(base string) string { return base },
		open:     openOpenAI,
		amend:    amendOpenAI,
		assemble: func() assembler { return &openAIAnswer{} },
	},
	{
		name:    "ollama",
		home:    "http://127.0.0.1:11434",
		address: withOllamaPort,
		bearer:  true,
		open: func(t target) (llms.Model, error) {
			return ollama.New(ollama.WithModel(t.model), ollama.WithServerURL(t.baseURL), ollama.WithHTTPClient(t.client),
				ollama.WithRunnerNumCtx(ollamaContext))
		},
		amend:     amendOllama,
		assemble:  func() assembler { return &ollamaAnswer{} },
		maxTokens: 4096,
	},
	{
		name:     "openai",
		needsKey: true,
		home:     "https://api.openai.com/v1",
		address:  func(base string) string { return base },
		open:     openOpenAI,
		amend:    amendOpenAI,
		assemble: func() assembler { return &openAIAnswer{} },
	},
}

// ollamaContext is how many tokens a question to Ollama and its answer may have
// together. Without it, Ollama drops the beginning of whatever is longer than a
// few thousand, and says nothing.
const ollamaContext = 16384

func openOpenAI(t target) (llms.Model, error) {
	return openai.New(openai.WithModel(t.model), openai.WithToken(t.key), openai.WithBaseURL(t.baseURL),
		openai.WithOrganization(""), openai.WithHTTPClient(t.client))
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
