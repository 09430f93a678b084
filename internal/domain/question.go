package domain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// MaxQuestion is the longest question, in bytes.
const MaxQuestion = 32 << 10

// Limits of a question's settings, in characters.
const (
	maxHelperPrompt = 10_000
	maxModelName    = 200
)

// Question is a question of a caller to an agent about the data in a namespace, and its run.
type Question struct {
	RunID     string
	Caller    Caller
	Agent     string
	Namespace NamespaceRef
	// ConversationID is the conversation that the question belongs to; "" for a new one.
	ConversationID string
	Text           string
	// HelperPrompt is guidance for the model, given with the question.
	HelperPrompt string
	// Provider and Model choose a configured model; "" for the default.
	Provider string
	Model    string
	// Locale is the language tag of the asker, by which numbers are written; "" for English.
	Locale string
	// NeverAsk says that the user answers no questions: the most likely reading is
	// taken instead.
	NeverAsk bool
	// MinConfidence is the least confidence of an answer, from 0 to 1; nil for the default.
	MinConfidence *float64
	// Inferred says that Namespace was found by the text of the question.
	Inferred bool
	// Standing is set if a watch asks the question again.
	Standing *Standing
	// Push is where the events are sent from the first one on, for a run that is started;
	// nil for nowhere. Its RunID is not used.
	Push *PushConfig
	// NamespaceID and ConversationExists say where the run is created: see
	// sqlstore.Store.ResolveRun.
	NamespaceID        string
	ConversationExists bool
	// Message is the message that asks; zero when the client gave it no id.
	Message SentMessage
	// Attachments are the files that come with the question. Their objects are listed as
	// orphaned until the run is created.
	Attachments []Attachment
}

type questionKey struct{}

// WithQuestion returns the context in which an agent answers a question.
func WithQuestion(ctx context.Context, question Question) context.Context {
	return context.WithValue(ctx, questionKey{}, question)
}

// QuestionFrom returns the question to be answered; false when there is none.
func QuestionFrom(ctx context.Context) (Question, bool) {
	question, ok := ctx.Value(questionKey{}).(Question)
	return question, ok
}

// CheckQuestion returns what is wrong with the text of a question, "" when it is right.
func CheckQuestion(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "must not be blank"
	case len(text) > MaxQuestion:
		return fmt.Sprintf("must be at most %d bytes", MaxQuestion)
	}
	return CheckText(text, MaxQuestion)
}

// QuestionKey is the same for questions that differ only in case, in blanks or in the
// punctuation at their end.
func QuestionKey(text string) string {
	text = strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(text))), " ")
	text = strings.TrimRight(text, ".?!…,;: ")
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// CheckHelperPrompt returns what is wrong with a helper prompt, "" when it is right.
func CheckHelperPrompt(text string) string { return CheckText(text, maxHelperPrompt) }

// CheckModelName returns what is wrong with the name of a model or provider, "" when it
// is right. Whether it exists is not checked.
func CheckModelName(name string) string { return CheckText(name, maxModelName) }

const notConfidence = "must be a number from 0 to 1"

// CheckConfidence returns what is wrong with the least confidence of an answer, "" when it is
// right.
func CheckConfidence(least float64) string {
	if !(least >= 0 && least <= 1) { // NaN, too
		return notConfidence
	}
	return ""
}

// SentMessage identifies a message of a client. A message that a user sends to an agent
// again within MessageRetention makes no second run.
type SentMessage struct {
	// Key is the id that the client gave it, or a hash of a long one; Digest is a hash of
	// all that it says.
	Key, Digest string
}

// MessageRetention is how long a message is known.
const MessageRetention = 24 * time.Hour

// The settings of a question in the metadata of a message.
const (
	metadataNamespace    = "namespace"
	metadataUsername     = "username"
	metadataModel        = "model"
	metadataProvider     = "provider"
	metadataHelperPrompt = "helperPrompt"
	metadataNeverAsk     = "neverAsk"
	metadataConfidence   = "minConfidence"
	// These are set by the host: see Question.Inferred and Question.Standing. Those of clients are
	// ignored.
	MetadataInferred = "namespaceInferred"
	MetadataStanding = "standing"
)

// Metadata returns the settings of a question as the metadata of a message; see
// ReadQuestion and ReadNamespace.
func (q Question) Metadata() map[string]any {
	metadata := map[string]any{}
	for key, value := range map[string]string{
		metadataModel: q.Model, metadataProvider: q.Provider, metadataHelperPrompt: q.HelperPrompt,
	} {
		if value != "" {
			metadata[key] = value
		}
	}
	if q.Namespace != (NamespaceRef{}) {
		metadata[metadataNamespace] = q.Namespace.String()
	}
	if q.NeverAsk {
		metadata[metadataNeverAsk] = true
	}
	if q.MinConfidence != nil {
		metadata[metadataConfidence] = *q.MinConfidence
	}
	if q.Inferred {
		metadata[MetadataInferred] = true
	}
	if q.Standing != nil {
		metadata[MetadataStanding] = map[string]any{"query": q.Standing.Query, "change": q.Standing.Change}
	}
	return metadata
}

// Settings are settings of a question from one part of a request. Where is what errors call
// that part.
type Settings struct {
	Where  string
	Values map[string]any
}

func (s Settings) invalid(key, problem string) error {
	field := s.Where + "." + key
	return Errorf(ErrInvalid, "%s %s", field, problem).At(field)
}

// ReadQuestion reads a question from the text of a message, and its settings: each from the
// first source that has it. None is required. The namespace is apart: see ReadNamespace.
// Errors are ErrInvalid.
func ReadQuestion(text string, sources ...Settings) (Question, error) {
	q := Question{Text: text}
	if problem := CheckQuestion(text); problem != "" {
		return q, Errorf(ErrInvalid, "the question %s", problem).At("message.parts")
	}
	for _, setting := range []struct {
		key   string
		into  *string
		check func(string) string
	}{
		{metadataModel, &q.Model, CheckModelName},
		{metadataProvider, &q.Provider, CheckModelName},
		{metadataHelperPrompt, &q.HelperPrompt, CheckHelperPrompt},
	} {
		source := firstWith(setting.key, sources)
		value, ok := source.Values[setting.key].(string)
		if !ok && source.Values != nil {
			return q, source.invalid(setting.key, "must be a string")
		}
		if problem := setting.check(value); problem != "" {
			return q, source.invalid(setting.key, problem)
		}
		*setting.into = value
	}
	source, ok := firstWith(metadataNeverAsk, sources), false
	if q.NeverAsk, ok = source.Values[metadataNeverAsk].(bool); !ok && source.Values != nil {
		return q, source.invalid(metadataNeverAsk, "must be true or false")
	}
	if source = firstWith(metadataConfidence, sources); source.Values != nil {
		least, ok := source.Values[metadataConfidence].(float64)
		if !ok || CheckConfidence(least) != "" {
			return q, source.invalid(metadataConfidence, notConfidence)
		}
		q.MinConfidence = &least
	}
	q.Inferred, _ = firstWith(MetadataInferred, sources).Values[MetadataInferred].(bool)
	if standing, ok := firstWith(MetadataStanding, sources).Values[MetadataStanding].(map[string]any); ok {
		q.Standing = &Standing{}
		q.Standing.Query, _ = standing["query"].(string)
		q.Standing.Change, _ = standing["change"].(string)
	}
	return q, nil
}

// firstWith returns the first source that has a setting; zero when none has.
func firstWith(key string, sources []Settings) Settings {
	for _, source := range sources {
		if source.Values[key] != nil {
			return source
		}
	}
	return Settings{}
}

// ReadNamespace reads the namespace that the first source with one names: "name",
// "owner/name", or a name with the owner in "username" of the same source; zero when none
// names any. Errors are ErrInvalid.
func ReadNamespace(caller Caller, sources ...Settings) (NamespaceRef, error) {
	source := firstWith(metadataNamespace, sources)
	if source.Values == nil {
		return NamespaceRef{}, nil
	}
	name, _ := source.Values[metadataNamespace].(string)
	owner, _, both := strings.Cut(name, "/")
	if beside := source.Values[metadataUsername]; beside != nil {
		username, _ := beside.(string)
		if username == "" {
			return NamespaceRef{}, source.invalid(metadataUsername, "must be the name of a user")
		}
		if both && caller.Resolve(owner) != caller.Resolve(username) {
			return NamespaceRef{}, source.invalid(metadataUsername, "must be the owner that namespace names")
		}
		if !both {
			name = username + "/" + name
		}
	}
	ref, ok := ParseNamespace(caller, name)
	if !ok {
		return ref, source.invalid(metadataNamespace, "must be a namespace, or owner/namespace")
	}
	return ref, nil
}

// ParseNamespace reads "name", for a namespace of the caller's own, or "owner/name".
func ParseNamespace(caller Caller, text string) (NamespaceRef, bool) {
	owner, name, both := strings.Cut(text, "/")
	if !both {
		owner, name = Self, text
	}
	ref := NamespaceRef{Owner: caller.Resolve(owner), Name: name}
	return ref, CheckUsername(ref.Owner) == "" && CheckName(ref.Name) == ""
}
