package a2aserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/push"
	"parley/storage"
)

// Limits of a push config, in bytes.
const (
	maxPushID      = 256
	maxPushToken   = 4 << 10
	maxCredentials = 8 << 10
	maxScheme      = 64
)

// inlinePush gives the config that comes with a message; nil for none.
func (s *agentService) inlinePush(ctx context.Context, who storage.Caller, request *a2a.SendMessageRequest) (*storage.PushConfig, error) {
	if request.Config == nil || request.Config.PushConfig == nil {
		return nil, nil
	}
	if s.host.sender == nil {
		return nil, errNoPush
	}
	config, err := s.readPush(ctx, who, "configuration.taskPushNotificationConfig.", request.Config.PushConfig)
	config.Modes = modesOf(request).String()
	return &config, err
}

// addPush makes the config, if any, that comes with a message to a task.
func (s *agentService) addPush(ctx context.Context, who storage.Caller, runID string, request *a2a.SendMessageRequest) error {
	config, err := s.inlinePush(ctx, who, request)
	if err != nil || config == nil {
		return err
	}
	config.RunID = runID
	return s.savePush(ctx, who, *config)
}

// readPush checks a config, and encrypts its secrets. The names of its fields follow path.
func (s *agentService) readPush(ctx context.Context, who storage.Caller, path string, in *a2a.PushConfig) (storage.PushConfig, error) {
	config, secrets := storage.PushConfig{ID: in.ID, URL: in.URL}, push.Secrets{Token: in.Token}
	if config.ID == "" {
		config.ID = storage.NewID()
	}
	if isLegacy(ctx) {
		config.Version = legacyVersion
	}
	if in.Auth != nil {
		config.Scheme, secrets.Credentials = in.Auth.Scheme, in.Auth.Credentials
	}
	var wrong []storage.FieldError
	check := func(field, problem string) {
		if problem != "" {
			wrong = append(wrong, storage.FieldError{Field: path + field, Message: problem})
		}
	}
	address, err := s.host.cfg.Push.Policy.CheckURL(in.URL)
	if err != nil {
		check("url", err.Error())
	} else {
		config.Receiver = strings.ToLower(address.Hostname())
	}
	check("id", checkHeaderText(config.ID, maxPushID))
	check("token", checkHeaderText(secrets.Token, maxPushToken))
	check("authentication.credentials", checkHeaderText(secrets.Credentials, maxCredentials))
	if in.Auth != nil {
		check("authentication.scheme", checkScheme(config.Scheme))
	}
	if len(wrong) > 0 {
		return config, storage.Invalid(wrong...)
	}
	config.Secrets, err = secrets.Seal(s.host.cfg.Push.Secrets, who.Username, config)
	return config, err
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

// fromPushConfig gives a config as callers see it: without its secrets.
func fromPushConfig(config storage.PushConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{TaskID: a2a.TaskID(config.RunID), ID: config.ID, URL: config.URL}
	if config.Scheme != "" {
		out.Auth = &a2a.PushAuthInfo{Scheme: config.Scheme}
	}
	return out
}
