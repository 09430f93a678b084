package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/a2aserver"
	"parley/a2aserver/push"
	"parley/cmd/parley/internal/command"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/safehttp"
	"parley/internal/seal"
)

// minEncryptionKey is the shortest key, in bytes.
const minEncryptionKey = 32

// pushSettings say where push notifications are sent.
type pushSettings struct {
	PushHosts     string         `placeholder:"LIST" help:"The only hosts for push notifications, separated by commas; *.example.com for all subdomains. By default, all public hosts."`
	PushInsecure  command.Toggle `help:"Also send push notifications over plain HTTP and to addresses that are not public, for tests and closed networks."`
	PushTimeout   string         `default:"24h" placeholder:"DURATION" help:"How long a failed push notification is retried (${default})."`
	EncryptionKey string         `placeholder:"TEXT" help:"The key that encrypts the secrets of push notifications in the database, 32 bytes or more. Of several, separated by commas, the first encrypts and all decrypt. Prefer the variable."`
}

// pushConfig is pushSettings, parsed.
type pushConfig struct {
	policy         safehttp.Policy
	giveUpAfter    time.Duration
	encryptionKeys []string
}

func (s pushSettings) read(c *command.Checker) pushConfig {
	cfg := pushConfig{
		policy:         safehttp.Policy{Insecure: c.Bool("push-insecure", s.PushInsecure), Hosts: list(s.PushHosts)},
		giveUpAfter:    c.Duration("push-timeout", s.PushTimeout),
		encryptionKeys: list(s.EncryptionKey),
	}
	for _, host := range cfg.policy.Hosts {
		if problem := safehttp.CheckHosts(host); problem != "" {
			c.Refuse("push-hosts", "%s, not %q", problem, host)
		}
	}
	for _, key := range cfg.encryptionKeys {
		if len(key) < minEncryptionKey {
			// It may be a part of a secret: it is not repeated.
			c.Refuse("encryption-key", "must have %d bytes or more", minEncryptionKey)
		}
	}
	return cfg
}

// newPush returns how push notifications are sent.
func newPush(ctx context.Context, cfg config, b base) (*a2aserver.Push, error) {
	keys, err := encryptionKeys(ctx, cfg, b)
	if err != nil {
		return nil, err
	}
	box, err := seal.New("push secrets", keys...)
	if err != nil {
		return nil, err
	}
	outcomes := promauto.With(b.registry).NewCounterVec(prometheus.CounterOpts{
		Name: "parley_push_notifications_total",
		Help: "Push notifications by what came of them: delivered, failed (and sent again), or given up with all that follow.",
	}, []string{"outcome"})
	for _, outcome := range push.Outcomes() {
		outcomes.WithLabelValues(string(outcome))
	}
	return &a2aserver.Push{
		Policy: cfg.push.policy, Secrets: box, GiveUpAfter: cfg.push.giveUpAfter,
		Observe: func(outcome push.Outcome) { outcomes.WithLabelValues(string(outcome)).Inc() },
	}, nil
}

// encryptionKeys returns the keys for secrets in the database, the one that encrypts first.
// The last is in the database itself: for those who set no other, and until then.
func encryptionKeys(ctx context.Context, cfg config, b base) (keys [][]byte, err error) {
	for _, key := range cfg.push.encryptionKeys {
		keys = append(keys, []byte(key))
	}
	if len(cfg.auth.Secret) > 0 {
		keys = append(keys, cfg.auth.Secret)
	}
	// Processes that share a database have different local keys.
	if cfg.localKey && cfg.store.DatabaseURL == "" {
		key, err := auth.LoadLocalKey(cfg.data)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	stored, err := b.store.SigningKey(ctx, domain.KeyForPush)
	return append(keys, stored), err
}
