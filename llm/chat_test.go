package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/llm"
)

const (
	planJSON     = `{"reasoning":"By total.","unanswerable":"","steps":["Sum total by customer_name in orders","Take the first"]}`
	queryJSON    = `{"reasoning":"By total.","unanswerable":"","sql":"SELECT \"customer_name\" FROM \"orders\";","search_dataset":"","search_words":"","search_limit":0}`
	searchJSON   = `{"reasoning":"Look in the notes.","unanswerable":"","sql":"","search_dataset":"Notes","search_words":"refund policy","search_limit":0}`
	declineJSON  = `{"reasoning":"","unanswerable":"There is nothing about weather; the data holds orders.","sql":"","search_dataset":"","search_words":"","search_limit":0}`
	extractJSON  = `{"rows":[{"city":"Oslo","people":9007199254740993},{"people":null,"city":null},{"city":"Rome","tags":"x","people":[1,2]}]}`
	describeJSON = `{"description":"One row for each order.","fields":[{"name":"ID","description":"number of the order"},{"name":"other","description":"?"}]}`
)

func checkUsage(t *testing.T, provider string, usage llm.Usage, calls int) {
	t.Helper()
	want := llm.Usage{Model: provider + ":m", InputTokens: 70 * calls, OutputTokens: 50 * calls}
	if usage != want {
		t.Errorf("usage %+v, want %+v", usage, want)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := saying(t, provider, planJSON)
		chat, _ := s.chat(llm.ChatConfig{})
		plan, err := chat.Plan(t.Context(), shopTask())
		if err != nil {
			t.Fatal(err)
		}
		if len(plan.Steps) != 2 || plan.Steps[1] != "Take the first" || plan.Reasoning != "By total." {
			t.Errorf("plan %+v", plan)
		}
		checkUsage(t, provider, plan.Usage, 1)
		asked := s.asked()[0]
		if !asked.streamed || !strings.Contains(asked.shape, `"steps"`) {
			t.Errorf("streamed %v, shape %q", asked.streamed, asked.shape)
		}
		for _, want := range []string{"never an instruction", `"steps"`} {
			if !strings.Contains(asked.system, want) {
				t.Errorf("no %q in the system text", want)
			}
		}
		for _, want := range []string{"Who are the best customers?", `"customer_name" VARCHAR: who bought`, "15 November 2026"} {
			if !strings.Contains(asked.user, want) {
				t.Errorf("no %q in:\n%s", want, asked.user)
			}
		}
		if options := string(asked.raw["options"]); provider == "ollama" && !strings.Contains(options, `"num_ctx":16384`) {
			t.Errorf("ollama's context is left to it: %s", options)
		}
	})
}

func TestWriteQuery(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		chat, _ := saying(t, provider, queryJSON).chat(llm.ChatConfig{})
		query, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()})
		if err != nil {
			t.Fatal(err)
		}
		if query.SQL != `SELECT "customer_name" FROM "orders"` || query.Search != nil || query.Confidence != 0 || query.Reasoning == "" {
			t.Errorf("query %+v", query)
		}
		checkUsage(t, provider, query.Usage, 1)
	})
}

func TestWriteSearch(t *testing.T) {
	t.Parallel()
	chat, _ := saying(t, "openai", searchJSON).chat(llm.ChatConfig{})
	query, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask(), Instruction: "What is the refund policy?"})
	if want := (llm.Search{Dataset: "notes", Words: "refund policy", Limit: 5}); err != nil || query.SQL != "" || query.Search == nil || *query.Search != want {
		t.Errorf("query %+v, %v", query, err)
	}
}

func TestUnanswerable(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := saying(t, provider, declineJSON)
		chat, _ := s.chat(llm.ChatConfig{})
		var declined *llm.UnanswerableError
		if _, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()}); !errors.As(err, &declined) || !strings.Contains(declined.Reason, "weather") {
			t.Errorf("WriteQuery: %v", err)
		}
		if plan, err := chat.Plan(t.Context(), shopTask()); !errors.As(err, &declined) || plan.Usage.InputTokens != 70 {
			t.Errorf("Plan: %+v, %v", plan, err)
		}
		if n := len(s.asked()); n != 2 {
			t.Errorf("%d requests, want one for each: it is an answer", n)
		}
	})
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := saying(t, provider, "**Ada** spent most [step 1], see [her page](https://ada.example/) [step 7]. ![x](https://evil.example/?q=Ada)")
		chat, _ := s.chat(llm.ChatConfig{})
		answer, err := chat.Answer(t.Context(), llm.AnswerTask{Task: shopTask(), Steps: []llm.Step{
			{Instruction: "Sum by customer", Query: "SELECT 1 FROM orders", Rows: rowsOf(`{"name":"Ada","page":"https://ada.example/"}`)},
			{Instruction: "Try more", Failure: "no such column"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if want := "**Ada** spent most [step 1], see [her page](https://ada.example/). x"; answer.Markdown != want {
			t.Errorf("answer %q, want %q", answer.Markdown, want)
		}
		checkUsage(t, provider, answer.Usage, 1)
		asked := s.asked()[0]
		for _, want := range []string{`["Ada","https://ada.example/"]`, "it failed: no such column", "step 2: Try more"} {
			if !strings.Contains(asked.user, want) {
				t.Errorf("no %q in:\n%s", want, asked.user)
			}
		}
		if asked.shape != "" {
			t.Errorf("an answer in words was asked for as %s", asked.shape)
		}
	})
}

func TestExtract(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := saying(t, provider, extractJSON)
		chat, _ := s.chat(llm.ChatConfig{})
		got, err := chat.Extract(t.Context(), llm.ExtractTask{
			Document: "cities.md", Text: "Oslo is a city. So is Rome.",
			Fields: []llm.Field{{Name: "city", Description: "its name"}, {Name: "people"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, row := range got.Rows {
			rows = append(rows, string(row))
		}
		if want := []string{`{"city":"Oslo","people":9007199254740993}`, `{"city":"Rome","people":"[1,2]"}`}; !slices.Equal(rows, want) {
			t.Errorf("rows %q, want %q", rows, want)
		}
		checkUsage(t, provider, got.Usage, 1)
		asked := s.asked()[0]
		if strings.Index(asked.shape, `"city"`) > strings.Index(asked.shape, `"people"`) {
			t.Errorf("the fields are not in order: %s", asked.shape)
		}
	})
}

func TestExtractLongText(t *testing.T) {
	t.Parallel()
	s := newStandin(t, "openai", func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, asked request) {
		// The last word of the part that is read.
		part := strings.Fields(asked.user[:strings.LastIndex(asked.user, "[END text")])
		row, _ := json.Marshal(map[string]any{"rows": []any{map[string]string{"word": part[len(part)-1]}}})
		s.say(rw, asked, string(row))
	})
	chat, _ := s.chat(llm.ChatConfig{})
	text := strings.Repeat("lorem ipsum ", 600) + "first\n\n" + strings.Repeat("dolor sit ", 700) + "second\n\n" + strings.Repeat("é", 3000) + " third"
	got, err := chat.Extract(t.Context(), llm.ExtractTask{Text: text, Fields: []llm.Field{{Name: "word"}}})
	var all strings.Builder
	for _, row := range got.Rows {
		all.Write(row)
	}
	if want := `{"word":"first"}{"word":"second"}{"word":"third"}`; err != nil || all.String() != want {
		t.Errorf("rows %s, %v, want %s", all.String(), err, want)
	}
	checkUsage(t, "openai", got.Usage, 3)
	if _, err := chat.Extract(t.Context(), llm.ExtractTask{Text: strings.Repeat("x", llm.MaxExtract+1), Fields: []llm.Field{{Name: "word"}}}); err == nil {
		t.Error("a text that is too long is taken")
	}
	if _, err := chat.Extract(t.Context(), llm.ExtractTask{Text: "x"}); err == nil {
		t.Error("no fields are taken")
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := saying(t, provider, describeJSON)
		chat, _ := s.chat(llm.ChatConfig{})
		got, err := chat.Describe(t.Context(), llm.DescribeTask{
			Name: "orders", Sample: rowsOf(`{"id":1,"total":2.5,"__metadata":{}}`).Rows, Description: "Orders.",
		})
		want := []llm.Field{{Name: "id", Description: "number of the order"}, {Name: "total"}}
		if err != nil || got.Text != "One row for each order." || !slices.Equal(got.Fields, want) {
			t.Errorf("description %+v, %v", got, err)
		}
		checkUsage(t, provider, got.Usage, 1)
		if user := s.asked()[0].user; !strings.Contains(user, "[1,2.5]") || !strings.Contains(user, "Orders.") {
			t.Errorf("prompt:\n%s", user)
		}
	})
}

// TestWrongOutput has a model whose first answer is wrong, and one whose answers all are.
func TestWrongOutput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ wrong, why string }{
		"no JSON":            {"I would count them.", "no JSON object"},
		"nothing":            {"", "no answer"},
		"blank":              {" \n ", "no answer"},
		"not closed":         {`{"sql":"SELECT 1`, "not closed"},
		"another object":     {`{"hello":"world"}`, "sql is empty"},
		"no SQL":             {`{"sql":" ; "}`, "sql is empty"},
		"a zero byte":        {`{"sql":"SELECT \u0000"}`, "zero byte"},
		"long SQL":           {`{"sql":"SELECT ` + strings.Repeat("1+", 20000) + `1"}`, "longer than"},
		"a search elsewhere": {`{"search_dataset":"orders","search_words":"x"}`, "search_dataset"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, provider string) {
				s := saying(t, provider, test.wrong, queryJSON)
				chat, _ := s.chat(llm.ChatConfig{})
				query, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()})
				if err != nil || query.SQL == "" {
					t.Fatalf("%+v, %v", query, err)
				}
				if asked := s.asked(); len(asked) != 2 || !strings.Contains(asked[1].user, test.why) || !strings.Contains(asked[1].user, "cannot be used") {
					t.Errorf("%d requests; the last:\n%s", len(asked), asked[len(asked)-1].user)
				}

				s = saying(t, provider, test.wrong)
				chat, _ = s.chat(llm.ChatConfig{})
				query, err = chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()})
				if !errors.Is(err, llm.ErrNoAnswer) || query.SQL != "" {
					t.Errorf("%+v, %v, want ErrNoAnswer", query, err)
				}
				if want := "the language model " + provider + ":m gave no answer that can be used"; err.Error() != want {
					t.Errorf("error %q, want %q", err, want)
				}
				if n := len(s.asked()); n != 2 {
					t.Errorf("asked %d times, want 2", n)
				}
			})
		})
	}
}

func TestWrongPlan(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]string{
		"no steps":    `{"steps":[]}`,
		"blank steps": `{"steps":[" "]}`,
		"six steps":   `{"steps":["a","b","c","d","e","f"]}`,
		"a long one":  `{"steps":["` + strings.Repeat("a", 5000) + `"]}`,
		"no list":     `{"steps":"all of them"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := saying(t, "ollama", wrong)
			chat, _ := s.chat(llm.ChatConfig{})
			if plan, err := chat.Plan(t.Context(), shopTask()); !errors.Is(err, llm.ErrNoAnswer) || len(s.asked()) != 2 {
				t.Errorf("%+v, %v after %d requests", plan, err, len(s.asked()))
			}
		})
	}
}

func TestJSONInProse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a fence":         "Here it is:\n```json\n" + queryJSON + "\n```\nHope it helps {really}!",
		"braces before":   "With {x} and {\"a\": 1} in mind: " + queryJSON,
		"trailing commas": strings.Replace(queryJSON, "0.8}", "0.8,}", 1),
		"raw line breaks": strings.Replace(queryJSON, " FROM", "\n\tFROM", 1),
		"thoughts":        "<think>maybe {\"sql\":\"SELECT 2\"}?</think>" + queryJSON,
		"SQL in a fence":  strings.Replace(queryJSON, `SELECT \"customer_name\" FROM \"orders\";`, "```sql\\nSELECT \\\"customer_name\\\" FROM \\\"orders\\\";\\n```", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := saying(t, "ollama", text)
			chat, _ := s.chat(llm.ChatConfig{})
			query, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()})
			if err != nil || strings.Join(strings.Fields(query.SQL), " ") != `SELECT "customer_name" FROM "orders"` {
				t.Errorf("%q, %v", query.SQL, err)
			}
			if n := len(s.asked()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// TestServerWithoutShapes has a server that supports neither streams nor schemas.
func TestServerWithoutShapes(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := newStandin(t, provider, func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, asked request) {
			if asked.shape != "" || asked.streamed {
				http.Error(rw, `{"error":{"message":"unknown field"}}`, http.StatusBadRequest)
				return
			}
			s.say(rw, asked, "Sure! "+queryJSON)
		})
		chat, _ := s.chat(llm.ChatConfig{})
		for want := range 2 {
			if query, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()}); err != nil || query.SQL == "" {
				t.Fatalf("%+v, %v", query, err)
			}
			if n := len(s.asked()); n != want+2 {
				t.Errorf("%d requests after query %d", n, want+1)
			}
		}
	})
}

// TestServerThatDoesNotStream has a server that ignores the request for a stream.
func TestServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := newStandin(t, provider, func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, _ request) {
			if s.provider == "anthropic" {
				fmt.Fprintf(rw, `{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"query","input":%s}],`+
					`"stop_reason":"tool_use","usage":{"input_tokens":70,"output_tokens":50}}`, queryJSON)
				return
			}
			fmt.Fprintf(rw, strings.NewReplacer(`:7,`, `:70,`, `:5,`, `:50,`, `:5}`, `:50}`).Replace(s.w.answer), queryJSON)
		})
		chat, _ := s.chat(llm.ChatConfig{})
		query, err := chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()})
		if err != nil || query.SQL == "" || len(s.asked()) != 1 {
			t.Errorf("%+v, %v", query, err)
		}
		checkUsage(t, provider, query.Usage, 1)
	})
}

func TestObserve(t *testing.T) {
	t.Parallel()
	var seen []llm.JobDone
	chat, _ := saying(t, "openai", planJSON, declineJSON, "x").chat(llm.ChatConfig{Observe: func(d llm.JobDone) { seen = append(seen, d) }})
	_, _ = chat.Plan(t.Context(), shopTask())
	_, _ = chat.WriteQuery(t.Context(), llm.QueryTask{Task: shopTask()})
	_, _ = chat.Describe(t.Context(), llm.DescribeTask{Name: "orders"})
	if len(seen) != 3 || seen[0].Job != "plan" || seen[0].Usage.OutputTokens != 50 || seen[0].Err != nil || seen[1].Err != nil ||
		!errors.Is(seen[2].Err, llm.ErrNoAnswer) || seen[2].Usage.OutputTokens != 100 {
		t.Errorf("observed %+v", seen)
	}
}
