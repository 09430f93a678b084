package serve

import (
	"testing"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/command"
)

// maxSettings is how many settings a server may have: nobody reads a longer list.
const maxSettings = 40

func TestSettings(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(new(Command), new(command.Flags))
	if err != nil {
		t.Fatal(err)
	}
	settings := 0
	for _, flag := range parser.Model.Flags {
		if flag.Name == "help" {
			continue
		}
		settings++
		if flag.Group == nil {
			t.Errorf("--%s is in no group", flag.Name)
		}
	}
	if settings > maxSettings {
		t.Errorf("%d settings, at most %d", settings, maxSettings)
	}
}

// TestLocal has the defaults, whatever the environment says.
func TestLocal(t *testing.T) {
	for variable, value := range map[string]string{"LANGFUSE_HOST": "https://langfuse.example", "PARLEY_LISTEN": "192.0.2.1:80", "PARLEY_DRAIN_DELAY": "1h"} {
		t.Setenv(variable, value)
	}
	server, err := Local(ModelSettings{LLM: []string{"ollama:x"}})
	if err != nil {
		t.Fatal(err)
	}
	if server.langfuse() != nil || server.Listen != "127.0.0.1:8080" || server.DrainDelay != 0 || server.KeepEvents != 0 ||
		server.MaxRows != 1000 || server.LLM[0] != "ollama:x" {
		t.Errorf("got %+v", server)
	}
}

func TestSignInSettings(t *testing.T) {
	t.Parallel()
	issuer := AuthSettings{AuthIssuer: "https://id.example"}
	secret := AuthSettings{AuthIssuer: "https://id.example", AuthSecret: "a secret"}
	parser, err := kong.New(new(Command), new(command.Flags))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		signIn  signInSettings
		tokens  AuthSettings
		refused bool
	}{
		"none":            {},
		"sign-in":         {signIn: signInSettings{AuthClientID: "parley"}, tokens: issuer},
		"implicit flow":   {signIn: signInSettings{AuthClientID: "parley", AuthURL: "https://id.example/auth"}},
		"no issuer":       {signIn: signInSettings{AuthClientID: "parley"}, refused: true},
		"a shared secret": {signIn: signInSettings{AuthClientID: "parley"}, tokens: secret, refused: true},
	} {
		c := command.Env{Model: parser.Model}.NewChecker()
		if test.signIn.check(c, test.tokens); (c.Err() != nil) != test.refused {
			t.Errorf("%s: %v", name, c.Err())
		}
	}
}
