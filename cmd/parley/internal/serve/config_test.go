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
