package push

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/internal/safehttp"
)

// Limits of a config, in bytes.
const (
	maxID          = 256
	maxToken       = 4 << 10
	maxCredentials = 8 << 10
	maxScheme      = 64
)

// ReadConfig checks a config that a caller gave. The names of wrong fields follow path.
func ReadConfig(policy safehttp.Policy, path string, in *a2a.PushConfig) (domain.PushConfig, Secrets, error) {
	config, secrets := domain.PushConfig{ID: in.ID, URL: in.URL}, Secrets{Token: in.Token}
	if config.ID == "" {
		config.ID = domain.NewID()
	}
	if in.Auth != nil {
		config.Scheme, secrets.Credentials = in.Auth.Scheme, in.Auth.Credentials
	}
	var wrong []domain.FieldError
	check := func(field, problem string) {
		if problem != "" {
			wrong = append(wrong, domain.FieldError{Field: path + field, Message: problem})
		}
	}
	address, err := policy.CheckURL(in.URL)
	if err != nil {
		check("url", err.Error())
	} else {
		config.Receiver = strings.ToLower(address.Hostname())
	}
	check("id", checkHeaderText(config.ID, maxID))
	check("token", checkHeaderText(secrets.Token, maxToken))
	check("authentication.credentials", checkHeaderText(secrets.Credentials, maxCredentials))
	if in.Auth != nil {
		check("authentication.scheme", checkScheme(config.Scheme))
	}
	if len(wrong) > 0 {
		return config, secrets, domain.Invalid(wrong...)
	}
	return config, secrets, nil
}

// checkHeaderText says what is wrong with a text that a header could hold.
func checkHeaderText(text string, most int) string {
	if len(text) > most {
		return fmt.Sprintf("must be at most %d bytes", most)
	}
	if strings.TrimSpace(text) != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "must be printable ASCII, without spaces around it"
	}
	return ""
}

// schemeCharacters are those of a token in HTTP.
const schemeCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// checkScheme says what is wrong with the name of an authentication scheme.
func checkScheme(name string) string {
	if name == "" || len(name) > maxScheme || strings.Trim(name, schemeCharacters) != "" {
		return "must be the name of a scheme, such as Bearer"
	}
	return ""
}

// ToA2A returns a config as callers see it: without its secrets.
func ToA2A(config domain.PushConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a2a.TaskID(config.RunID), ID: config.ID, URL: config.URL}
	if config.Scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: config.Scheme}
	}
	return out
}
