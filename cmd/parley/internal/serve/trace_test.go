package serve

import (
	"testing"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/command"
)

// TestWhereTracesGo reads settings that agree, in all their spellings.
func TestWhereTracesGo(t *testing.T) {
	t.Parallel()
	langfuse := []string{"--langfuse-host", "https://langfuse.example/", "--langfuse-public-key", "pk", "--langfuse-secret-key", "sk"}
	const basic = "Basic cGs6c2s=" // pk:sk
	for name, test := range map[string]struct {
		args          []string
		scores        bool
		endpoint      string
		authorization string
	}{
		"nowhere":   {nil, false, "", ""},
		"Langfuse":  {langfuse, true, "https://langfuse.example/api/public/otel/v1/traces", basic},
		"collector": {[]string{"--otel-exporter-otlp-endpoint", "http://collector:4318/"}, false, "http://collector:4318/v1/traces", ""},
		"both": {append(langfuse, "--otel-exporter-otlp-endpoint", "http://collector:4318", "--otel-exporter-otlp-headers", "Authorization=Bearer%20x, a=b"),
			true, "http://collector:4318/v1/traces", "Bearer x"},
		"a whole address": {append(langfuse, "--otel-exporter-otlp-endpoint", "http://one", "--otel-exporter-otlp-traces-endpoint", "http://two/traces"),
			true, "http://two/traces", ""},
	} {
		var server Command
		parser, err := kong.New(&server)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		c := command.NewChecker(parser.Model)
		cfg := server.traceSettings.read(c, "dev")
		if err := c.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if (cfg.langfuse != nil) != test.scores || (cfg.tracer != nil) != (test.endpoint != "") {
			t.Errorf("%s: got %+v", name, cfg)
		}
		if cfg.tracer != nil && (cfg.tracer.Endpoint != test.endpoint || cfg.tracer.Headers["Authorization"] != test.authorization ||
			cfg.tracer.Resource["service.name"] != "parley" || cfg.tracer.Content) {
			t.Errorf("%s: got %+v", name, cfg.tracer)
		}
	}
}
