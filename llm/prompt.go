package llm

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/tmc/langchaingo/llms"
)

// Each job has a file in prompts with the templates "system", the instructions, and "user",
// the material. The schema of its answer is beside it.
//
//go:embed prompts
var promptFiles embed.FS

func readShape(name string) *shape {
	text, err := promptFiles.ReadFile("prompts/" + name + ".json")
	var schema bytes.Buffer
	if err = errors.Join(err, json.Compact(&schema, text)); err != nil {
		panic(err) // it is embedded
	}
	return &shape{name: name, schema: schema.Bytes()}
}

// render returns the messages for a job. Material is between lines with a random word: nobody
// who wrote a row, a name or a description knows it, so none can contain a line that seems
// to end the material.
func render(job string, form *shape, view any) ([]llms.MessageContent, error) {
	fence := rand.Text()
	prompt, err := template.New(job).Funcs(template.FuncMap{
		"fence": func() string { return fence },
		"data": func(name, text string) string {
			text = strings.TrimSpace(clean(text))
			if text == "" {
				return ""
			}
			return fmt.Sprintf("[BEGIN %s %s]\n%s\n[END %s %s]\n", name, fence, text, name, fence)
		},
	}).ParseFS(promptFiles, "prompts/rules.md", "prompts/"+job+".md")
	if err != nil {
		return nil, fmt.Errorf("parse prompt %s: %w", job, err)
	}
	var system, user strings.Builder
	if err := errors.Join(prompt.ExecuteTemplate(&system, "system", view), prompt.ExecuteTemplate(&user, "user", view)); err != nil {
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
