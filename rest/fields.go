package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"parley/internal/domain"
)

// fields is a JSON object whose members are read by name. Errors are recorded in the
// request, so that the client gets all of them in one response.
type fields struct {
	*request
	// at is the path of the object in the body: "" or a prefix such as "items[0].".
	at      string
	members map[string]json.RawMessage
}

// check records the error of a member; "" is none.
func (f fields) check(name, problem string) { f.request.check(f.at+cut(name), problem) }

// cut limits a client's name that is sent back.
func cut(name string) string { return domain.Truncate(name, maxFieldPath) }

// has reports whether a member exists and is not null.
func (f fields) has(name string) bool {
	raw, ok := f.members[name]
	return ok && string(raw) != "null"
}

// decode reads a required member of a kind.
func decode[T any](f fields, name, kind string) (value T, ok bool) {
	switch {
	case !f.has(name):
		f.check(name, "is required")
	case json.Unmarshal(f.members[name], &value) != nil:
		f.check(name, "must be "+kind)
	default:
		return value, true
	}
	return value, false
}

// text reads a required string that must pass check.
func (f fields) text(name string, check func(string) string) string {
	text, ok := decode[string](f, name, "a string")
	if ok {
		f.check(name, check(text))
	}
	return text
}

// optionalText is text for an optional string; otherwise when there is none.
func (f fields) optionalText(name, otherwise string, check func(string) string) string {
	if !f.has(name) {
		return otherwise
	}
	return f.text(name, check)
}

// nullableText reads any string; nil when there is none.
func (f fields) nullableText(name string) *string {
	if !f.has(name) {
		return nil
	}
	text := f.text(name, anyText)
	return &text
}

func anyText(string) string { return "" }

// oneOf accepts two texts.
func oneOf[T ~string](one, other T) func(string) string {
	return func(text string) string {
		if text != string(one) && text != string(other) {
			return fmt.Sprintf("must be '%s' or '%s'", one, other)
		}
		return ""
	}
}

// notEmpty accepts a text of 1 to most characters.
func notEmpty(most int) func(string) string {
	return func(text string) string {
		if text == "" {
			return "must not be empty"
		}
		return domain.CheckText(text, most)
	}
}

// notBlank is notEmpty, and refuses blanks alone.
func notBlank(most int) func(string) string {
	return func(text string) string {
		if strings.TrimSpace(text) == "" {
			return "must not be blank"
		}
		return domain.CheckText(text, most)
	}
}

// user reads a required username; domain.Self is the caller's.
func (f fields) user(name string) (username string) {
	f.text(name, func(text string) string {
		username = f.caller.Resolve(text)
		return domain.CheckUsername(username)
	})
	return username
}

// grantee reads a required user or group.
func (f fields) grantee(name string) (grantee string) {
	f.text(name, func(text string) string {
		grantee = f.caller.Resolve(text)
		return domain.CheckGrantee(grantee)
	})
	return grantee
}

// namespace reads the namespace of a question or a query.
func (f fields) namespace() domain.NamespaceRef {
	return domain.NamespaceRef{Owner: f.user("username"), Name: f.text("namespace", domain.CheckName)}
}

func (f fields) uuid(name string) (id string) {
	f.text(name, func(text string) string {
		parsed, err := uuid.Parse(text)
		if err != nil {
			return "must be a UUID"
		}
		id = parsed.String()
		return ""
	})
	return id
}

func (f fields) future(name string) (at time.Time) {
	f.text(name, func(text string) string {
		var err error
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return notTime
		}
		if !at.After(time.Now().Add(time.Second)) {
			return "must be in the future"
		}
		return ""
	})
	return at
}

const notTime = "must be a time as in 2030-12-31T23:59:59Z"

// list reads a required list of objects. Where most is not 0, it has 1 to most entries; hint
// is added to the error.
func list[T any](f fields, name string, most int, hint string, read func(object fields) T) []T {
	items, ok := decode[[]json.RawMessage](f, name, "a list")
	objects := make([]fields, len(items))
	for i, item := range items {
		objects[i] = fields{request: f.request, at: fmt.Sprintf("%s%s[%d].", f.at, name, i)}
		if json.Unmarshal(item, &objects[i].members) != nil || objects[i].members == nil {
			f.check(fmt.Sprintf("%s[%d]", name, i), "must be an object")
			ok = false
		}
	}
	if ok && most > 0 && (len(items) == 0 || len(items) > most) {
		f.check(name, fmt.Sprintf("must have 1 to %d entries%s", most, hint))
		return nil
	}
	values := make([]T, len(objects))
	for i, object := range objects {
		if object.members != nil {
			values[i] = read(object)
		}
	}
	return values
}

// texts reads an object whose values are strings; nil when there is none.
func (f fields) texts(name string) map[string]string {
	if !f.has(name) {
		return nil
	}
	members, ok := decode[map[string]json.RawMessage](f, name, "an object whose values are strings")
	if !ok {
		return nil
	}
	texts := make(map[string]string, len(members))
	inner := fields{request: f.request, at: f.at + name + ".", members: members}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if inner.has(key) {
			texts[key] = inner.text(key, anyText)
		} else {
			inner.check(key, "must be a string")
		}
	}
	return texts
}

// definition reads the fields of an inference definition. An absent field keeps its value,
// null clears it.
func (f fields) definition() domain.DefinitionPatch {
	var patch domain.DefinitionPatch
	_, patch.SetDisplayName = f.members["displayName"]
	_, patch.SetDescription = f.members["dataDescription"]
	_, patch.SetSchema = f.members["schemaDefinition"]
	patch.DisplayName = f.nullableText("displayName")
	patch.Description = f.nullableText("dataDescription")
	patch.Schema = f.texts("schemaDefinition")
	f.wrong = append(f.wrong, patch.Check()...)
	return patch
}

// currentValue reads the current descriptions of a dataset and its fields.
func (f fields) currentValue() domain.Definition {
	inner := fields{request: f.request, at: f.at + "currentValue."}
	if f.has("currentValue") {
		inner.members, _ = decode[map[string]json.RawMessage](f, "currentValue", "an object")
	}
	current := domain.Definition{Description: inner.nullableText("description"), Schema: inner.texts("schema")}
	for _, wrong := range current.Check() {
		name := "description"
		if field, ok := strings.CutPrefix(wrong.Field, "schemaDefinition"); ok {
			name = "schema" + field
		}
		inner.check(name, wrong.Message)
	}
	return current
}
