package openapi

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDocumentOfHostileAddress fills in addresses that try to be something else.
func TestDocumentOfHostileAddress(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"http://127.0.0.1:8080/api/v1",
		"http://a'b&c;d=[e]#f/api/v1",
		"http://a\"\n    description: b\\<script>{{c}}${d}/api/v1",
		"http://ä\u2028\u0000/api/v1",
		"",
	} {
		at := Addresses{BaseURL: base, AuthURL: base}
		var doc struct {
			Servers []struct{ URL string }
			Paths   map[string]struct {
				Servers []struct{ URL string }
			}
			Components struct {
				SecuritySchemes map[string]struct {
					Flows struct {
						Implicit struct {
							AuthorizationURL string `yaml:"authorizationUrl"`
						}
					}
				} `yaml:"securitySchemes"`
			}
		}
		if err := yaml.Unmarshal(Document(at), &doc); err != nil {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if doc.Servers[0].URL != base || doc.Paths["/docs"].Servers[0].URL != strings.TrimSuffix(base, "/api/v1") {
			t.Errorf("%q: the servers are %q and %q", base, doc.Servers, doc.Paths["/docs"].Servers)
		}
		if got := doc.Components.SecuritySchemes["openId"].Flows.Implicit.AuthorizationURL; got != at.authURL() {
			t.Errorf("%q: the authorization address is %q", base, got)
		}
		page, err := Page(at)
		if err != nil || strings.Contains(string(page), "<script") || strings.Contains(string(page), baseMark) {
			t.Errorf("%q: the page: %v", base, err)
		}
	}
}

// TestPageIsComplete sees that the page has everything, and no link goes astray.
func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	text, err := Page(Addresses{BaseURL: "http://127.0.0.1:8080/api/v1"})
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var ids []string
	for _, found := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(ids, found[1]) {
			t.Errorf("two things are called %s", found[1])
		}
		ids = append(ids, found[1])
	}
	for _, found := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !slices.Contains(ids, found[1]) {
			t.Errorf("a link goes to %q, which is not there", found[1])
		}
	}
	for _, found := range regexp.MustCompile(` (?:href|src)="([^#"][^"]*)"`).FindAllStringSubmatch(page, -1) {
		if found[1] != "docs/style.css" && found[1] != "openapi.yaml" {
			t.Errorf("a link goes to %q", found[1])
		}
	}
	doc, err := parse(source)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, path := range doc.Paths {
		for _, op := range path.Value.operations() {
			shown++
			if !slices.Contains(ids, op.Value.OperationID) {
				t.Errorf("%s is not on the page", op.Value.OperationID)
			}
		}
	}
	if shown < 50 {
		t.Errorf("only %d operations", shown)
	}
	if strings.Contains(page, "style=") || strings.Contains(page, "<style") {
		t.Error("the page's policy does not let it have styles of its own")
	}
}

// TestBadDocument has documents with something missing.
func TestBadDocument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"paths: [": "read the description",
		"paths: 7": "a map is wanted",
		"paths: {/a: {get: {operationId: a, parameters: [{$ref: '#/components/parameters/B'}]}}}":   "a: there is no #/components/parameters/B",
		"paths: {/a: {get: {operationId: a, requestBody: {$ref: '#/components/requestBodies/B'}}}}": "a: there is no #/components/requestBodies/B",
		"paths: {/a: {get: {operationId: a, responses: {'200': {$ref: '#/c/responses/B'}}}}}":       "a: there is no #/c/responses/B",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestExample(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain text\n":                                 "plain text",
		"{a: [1, {b: null}], c: x}":                    `{"a": [1, {"b": null}], "c": "x"}`,
		"a: 1.5\nb:\n  - true\n  - {}\n  - <b>\nc: []": "{\n  \"a\": 1.5,\n  \"b\": [\n    true,\n    {},\n    \"<b>\"\n  ],\n  \"c\": []\n}",
	} {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		if got := asExample(*node.Content[0]); got != want {
			t.Errorf("%s\nis %s\nwant %s", text, got, want)
		}
	}
}
