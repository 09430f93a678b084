package serve

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"parley/a2aserver"
	"parley/a2aserver/push"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/safehttp"
	"parley/internal/seal"
)

// pushTimeout is how long a failed push notification is retried.
const pushTimeout = 24 * time.Hour

// newPush returns how push notifications are sent.
func newPush(ctx context.Context, cfg *Command, b base) (*a2aserver.Push, error) {
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
		Policy: safehttp.Policy{Insecure: cfg.PushInsecure, Hosts: cfg.PushHosts}, Secrets: box, GiveUpAfter: pushTimeout,
		Observe: func(outcome push.Outcome) { outcomes.WithLabelValues(string(outcome)).Inc() },
	}, nil
}

// encryptionKeys returns the keys for secrets in the database, the one that encrypts first.
// The last is in the database itself: for those who set no other, and until then.
func encryptionKeys(ctx context.Context, cfg *Command, b base) (keys [][]byte, err error) {
	for _, key := range cfg.EncryptionKey {
		keys = append(keys, []byte(key))
	}
	if cfg.AuthSecret != "" {
		keys = append(keys, []byte(cfg.AuthSecret))
	}
	// Processes that share a database have different local keys.
	if cfg.UsesLocalKey() && cfg.DatabaseURL == "" {
		key, err := auth.LoadLocalKey(cfg.Data)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	stored, err := b.store.SigningKey(ctx, domain.KeyForPush)
	return append(keys, stored), err
}
