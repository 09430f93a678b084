package push

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/internal/domain"
	"parley/internal/seal"
)

func TestHeader(t *testing.T) {
	t.Parallel()
	at := time.Unix(1614265330, 0)
	event := domain.Event{Number: 7, Body: []byte(`{"test": 2432232314}`)}
	for _, test := range []struct {
		scheme  string
		secrets Secrets
		want    string // of what depends on the secrets
	}{
		{"", Secrets{}, ""},
		{"Bearer", Secrets{}, ""},
		{"Bearer", Secrets{Credentials: "abc"}, "Authorization: Bearer abc\nWebhook-Signature: v1,CAS38XUcJNeIjDs71WVOlXPWkmNcbww/vCcqJkviqv8="},
		{"", Secrets{Token: "abc"}, "A2A-Notification-Token: abc\nX-A2A-Notification-Token: abc\nWebhook-Signature: v1,CAS38XUcJNeIjDs71WVOlXPWkmNcbww/vCcqJkviqv8="},
	} {
		header := http.Header{}
		setHeader(header, &domain.Push{PushConfig: domain.PushConfig{RunID: "run", Scheme: test.scheme}}, test.secrets, event, at)
		for name, want := range map[string]string{
			"Content-Type": "application/a2a+json", "A2A-Version": "1.0", "User-Agent": "parley",
			"Parley-Event-Id": "7", "Webhook-Id": "run_7", "Webhook-Timestamp": "1614265330",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
		var got []string
		for _, name := range []string{"Authorization", "A2A-Notification-Token", "X-A2A-Notification-Token", "Webhook-Signature"} {
			if value := header.Get(name); value != "" {
				got = append(got, name+": "+value)
			}
		}
		if strings.Join(got, "\n") != test.want {
			t.Errorf("%+v:\n%s", test.secrets, strings.Join(got, "\n"))
		}
	}
}

// TestStandardWebhooks checks the signature with the example of the standard's own
// libraries.
func TestStandardWebhooks(t *testing.T) {
	t.Parallel()
	key := signingKey(Secrets{Token: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	got := sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signed %s", got)
	}
	for token, want := range map[string]string{"whsec_": "whsec_", "whsec_!": "whsec_!", "plain": "plain"} {
		if got := signingKey(Secrets{Token: token, Credentials: "other"}); string(got) != want {
			t.Errorf("%s: %q", token, got)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	box, err := seal.New("push", []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	config := domain.PushConfig{ID: "a", URL: "https://example.com"}
	secrets := Secrets{Token: "the-token", Credentials: "the-credentials"}
	if config.Secrets, err = secrets.Seal(box, "alice", config); err != nil || strings.Contains(string(config.Secrets), "the-") {
		t.Errorf("sealed %q, %v", config.Secrets, err)
	}
	if got, err := openSecrets(box, "alice", config); err != nil || got != secrets {
		t.Errorf("opened %+v, %v", got, err)
	}
	if sealed, err := (Secrets{}).Seal(box, "alice", config); err != nil || sealed != nil {
		t.Errorf("none are %q, %v", sealed, err)
	}
	// Whoever can write the database cannot have them sent elsewhere.
	moved := config
	moved.URL = "https://example.org"
	if _, err := openSecrets(box, "alice", moved); err == nil {
		t.Error("they open for another URL")
	}
	if _, err := openSecrets(box, "bob", config); err == nil {
		t.Error("they open for another owner")
	}
}
