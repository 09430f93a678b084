package a2aserver

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// The rules are those of storage, and the error names the part of the message.
func TestQuestionRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text     string
		metadata map[string]any
		want     string
	}{
		"all set":            {"How many?", map[string]any{"model": "m", "provider": "p", "helperPrompt": strings.Repeat("ä", 10_000)}, ""},
		"null":               {"How many?", map[string]any{"model": nil}, ""},
		"blank":              {" \n", nil, "the question must not be blank"},
		"long":               {strings.Repeat("x", domain.MaxQuestion+1), nil, "the question must be at most 32768 bytes"},
		"NUL":                {"a\x00", nil, "the question must not hold the character NUL"},
		"number for a model": {"How many?", map[string]any{"model": 1.}, "message.metadata.model must be a string"},
		"long model":         {"How many?", map[string]any{"model": strings.Repeat("x", 201)}, "message.metadata.model must be at most 200 characters"},
		"NUL in a provider":  {"How many?", map[string]any{"provider": "a\x00"}, "message.metadata.provider must not hold the character NUL"},
		"text for neverAsk":  {"How many?", map[string]any{"neverAsk": "yes"}, "message.metadata.neverAsk must be true or false"},
		"least confidence":   {"How many?", map[string]any{"minConfidence": 0.}, ""},
		"text for a number":  {"How many?", map[string]any{"minConfidence": "0.5"}, "message.metadata.minConfidence must be a number from 0 to 1"},
		"more than sure":     {"How many?", map[string]any{"minConfidence": 1.01}, "message.metadata.minConfidence must be a number from 0 to 1"},
		"not a number":       {"How many?", map[string]any{"minConfidence": math.NaN()}, "message.metadata.minConfidence must be a number from 0 to 1"},
		"long helper prompt": {"How many?", map[string]any{"helperPrompt": strings.Repeat("x", 10_001)}, "message.metadata.helperPrompt must be at most 10000 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(test.text))
			message.Metadata = map[string]any{"namespace": "shop"}
			for key, value := range test.metadata {
				message.Metadata[key] = value
			}
			service := &agentService{host: &Host{}, agent: &Agent{Name: "echo"}}
			q, err := service.toQuestion(t.Context(), domain.Caller{Username: "ann"}, &a2a.SendMessageRequest{Message: message})
			switch {
			case test.want == "" && (err != nil || q.Text != test.text || q.Namespace.Owner != "ann"):
				t.Errorf("%+v, %v", q, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// Each setting comes from the first source that has it, and errors name that source.
func TestSettingsOfSources(t *testing.T) {
	t.Parallel()
	service := &agentService{host: &Host{}, agent: &Agent{Name: "echo"}}
	for name, test := range map[string]struct {
		message, request map[string]any
		// field is the wrong one; "" for none.
		field string
	}{
		"both":                       {map[string]any{"namespace": "shop", "model": "m"}, map[string]any{"provider": "p", "model": 7}, ""},
		"username without namespace": {map[string]any{"username": "jane"}, map[string]any{"namespace": "ann/shop", "model": "m", "provider": "p"}, ""},
		"usernames of two sources":   {map[string]any{"namespace": "ann/shop", "model": "m"}, map[string]any{"username": "jane", "provider": "p"}, ""},
		"wrong username":             {map[string]any{"namespace": "shop"}, map[string]any{"namespace": "shop", "username": 7}, ""},
		"wrong in request":           {map[string]any{"namespace": "shop"}, map[string]any{"model": 7}, "metadata.model"},
		"wrong in message":           {map[string]any{"namespace": "shop", "neverAsk": 7}, map[string]any{"neverAsk": true}, "message.metadata.neverAsk"},
		"other owner in request":     {map[string]any{"username": "ann"}, map[string]any{"namespace": "ann/shop", "username": "jane"}, "metadata.username"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := question("How many?")
			request.Message.Metadata, request.Metadata = test.message, test.request
			q, err := service.toQuestion(t.Context(), domain.Caller{Username: "ann"}, request)
			if test.field == "" {
				if err != nil || q.Namespace.String() != "ann/shop" {
					t.Errorf("%+v, %v", q, err)
				}
				return
			}
			invalid, ok := errors.AsType[*domain.Error](err)
			if !ok || len(invalid.Fields) != 1 || invalid.Fields[0].Field != test.field || !strings.HasPrefix(invalid.Message, test.field) {
				t.Errorf("%#v, want an error about %s", err, test.field)
			}
		})
	}
}

// What the metadata of a request says counts also after an answer, and after a takeover,
// which read the same message. What only the host may set does not count.
func TestNeverAskOfRequestIsStored(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		var resumed domain.Question
		s := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			resumed, _ = domain.QuestionFrom(ctx)
			asking(ctx, request, yield)
		})).service("echo")
		for _, neverAsk := range []any{true, false, nil} {
			request := toShop("Paint it")
			request.Metadata = map[string]any{"neverAsk": neverAsk, "minConfidence": 0.25, "namespaceInferred": true}
			request.Message.Metadata["namespaceInferred"] = true
			sendTask(t, s, alice, reply(sendTask(t, s, alice, request), "red"))
			if want := neverAsk == true; resumed.NeverAsk != want || resumed.MinConfidence == nil || *resumed.MinConfidence != 0.25 || resumed.Inferred || len(request.Message.Metadata) != 2 {
				t.Errorf("%v: resumed with %t; the client's metadata is %v", neverAsk, resumed.NeverAsk, request.Message.Metadata)
			}
		}
	})
}

// Names in A2A messages mean whom they mean elsewhere.
func TestActor(t *testing.T) {
	t.Parallel()
	caller := domain.Caller{Username: "ann"}
	for name, want := range map[string]string{
		"self": "ann", "SELF": "ann", "Bob": "bob", "Jose\u0301": "jos\u00e9",
		"\u017felf": "\u017felf", // equal to self only when case is folded beyond ASCII
	} {
		if got := caller.Resolve(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
