package push

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/internal/domain"
	"parley/internal/retry"
)

const (
	// mediaType is what the protocol asks for, plainType what it did before 1.0.
	mediaType, plainType = "application/a2a+json", "application/json"
	// version is that of the protocol, unless a config has another.
	version = "1.0"
	// maxResponse is how much of a response is read, so that its connection can be used
	// again, in bytes.
	maxResponse = 4 << 10
	// signingPrefix begins a token that is the base64 form of a key, as Standard Webhooks
	// has it.
	signingPrefix = "whsec_"
)

// refusal is a response that does not say that an event was received.
type refusal struct {
	status int
	// after is how long the receiver asks to be left alone.
	after time.Duration
}

func (r *refusal) Error() string { return "the receiver answered " + strconv.Itoa(r.status) }

// isGone reports whether a receiver says that it wants no more.
func isGone(err error) bool {
	refused, ok := errors.AsType[*refusal](err)
	return ok && refused.status == http.StatusGone
}

// post sends an event. The error says nothing of the URL, which may hold secrets.
func (s *Sender) post(ctx context.Context, push *domain.Push, secrets Secrets, event domain.Event) error {
	event, err := s.cfg.Encode(push.PushConfig, event)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, push.URL, bytes.NewReader(event.Body))
	if err != nil {
		return errors.New("the URL is not valid")
	}
	setHeader(request.Header, push, secrets, event, time.Now())
	response, err := s.client.Do(request)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("post: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxResponse))
	if response.StatusCode/100 != 2 {
		return &refusal{status: response.StatusCode, after: retry.After(response.Header, retries.Max)}
	}
	return nil
}

// setHeader sets the header of a request: who sends, what, and which one of the run's events.
func setHeader(header http.Header, push *domain.Push, secrets Secrets, event domain.Event, now time.Time) {
	header.Set("Content-Type", mediaType)
	header.Set("A2A-Version", version)
	if push.Version != "" {
		header.Set("Content-Type", plainType)
		header.Set("A2A-Version", push.Version)
	}
	header.Set("User-Agent", "parley")
	number := strconv.FormatInt(event.Number, 10)
	header.Set("Parley-Event-Id", number)
	if push.Scheme != "" && secrets.Credentials != "" {
		header.Set("Authorization", push.Scheme+" "+secrets.Credentials)
	}
	if secrets.Token != "" {
		// The protocol names no header. The SDKs use these two.
		header.Set("A2A-Notification-Token", secrets.Token)
		header.Set("X-A2A-Notification-Token", secrets.Token)
	}
	id, at := push.RunID+"_"+number, strconv.FormatInt(now.Unix(), 10)
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", at)
	if key := signingKey(secrets); key != nil {
		header.Set("Webhook-Signature", "v1,"+sign(key, id, at, event.Body))
	}
}

// signingKey returns what an event is signed with, nil when the receiver shares no secret.
func signingKey(secrets Secrets) []byte {
	if encoded, ok := strings.CutPrefix(secrets.Token, signingPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	switch {
	case secrets.Token != "":
		return []byte(secrets.Token)
	case secrets.Credentials != "":
		return []byte(secrets.Credentials)
	}
	return nil
}

// sign returns the signature of an event, by Standard Webhooks.
func sign(key []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, at)
	_, _ = mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
