package llm

import (
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"

	"github.com/tmc/langchaingo/llms"
)

// Each job has a file in prompts: what the model is told, as "system", and the
// material that it is given, as "user". The schema of its answer is beside it.
//
//go:embed prompts
var promptFiles embed.FS

// prompts are the parsed files, by job.
var prompts = map[string]*template.Template{
	"plan":     parsePrompt("plan"),
	"query":    parsePrompt("query"),
	"answer":   parsePrompt("answer"),
	"extract":  parsePrompt("extract"),
	"describe": parsePrompt("describe"),
}

func parsePrompt(job string) *template.Template {
	unbound := template.FuncMap{"fence": func() string { return "" }, "data": func(string, string) string { return "" }}
	return template.Must(template.New(job).Funcs(unbound).Option("missingkey=error").
		ParseFS(promptFiles, "prompts/rules.md", "prompts/"+job+".md"))
}

func readShape(name string) *shape {
	schema, err := promptFiles.ReadFile("prompts/" + name + ".json")
	if err != nil {
		panic(err) // it is embedded
	}
	return &shape{name: name, schema: compact(schema)}
}

func compact(schema []byte) json.RawMessage {
	text, err := json.Marshal(json.RawMessage(schema))
	if err != nil {
		panic(err) // it is embedded, or was built
	}
	return text
}

// render gives the messages for a job. Material stands between lines that hold a
// word made for this call alone: nobody who wrote a row, a name or a description
// can know it, and so none can seem to end where we say it does not.
func render(job string, form *shape, view any) ([]llms.MessageContent, error) {
	fence := rand.Text()
	bound, err := prompts[job].Clone()
	if err != nil {
		return nil, fmt.Errorf("prepare prompt %s: %w", job, err)
	}
	bound.Funcs(template.FuncMap{
		"fence": func() string { return fence },
		"data": func(name, text string) string {
			text = strings.TrimSpace(clean(text))
			if text == "" {
				return ""
			}
			return fmt.Sprintf("[BEGIN %s %s]\n%s\n[END %s %s]\n", name, fence, text, name, fence)
		},
	})
	var system, user strings.Builder
	if err := bound.ExecuteTemplate(&system, "system", view); err != nil {
		return nil, fmt.Errorf("render prompt %s: %w", job, err)
	}
	if err := bound.ExecuteTemplate(&user, "user", view); err != nil {
		return nil, fmt.Errorf("render prompt %s: %w", job, err)
	}
	if form != nil {
		fmt.Fprintf(&system, "\nAnswer with one JSON object of this JSON schema and nothing else:\n%s\n", form.schema)
	}
	return []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeSystem, strings.TrimSpace(system.String())),
		llms.TextParts(llms.ChatMessageTypeHuman, strings.TrimSpace(user.String())),
	}, nil
}
