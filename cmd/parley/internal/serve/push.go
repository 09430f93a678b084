package serve

import (
	"context"
	"time"

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
func (s *server) newPush(ctx context.Context) (*a2aserver.Push, error) {
	keys, err := s.encryptionKeys(ctx)
	if err != nil {
		return nil, err
	}
	box, err := seal.New("push secrets", keys...)
	if err != nil {
		return nil, err
	}
	outcomes := newCounters(s.registry, "parley_push_notifications_total",
		"Push notifications by what came of them: delivered, failed (and sent again), or given up with all that follow.", "outcome", push.Outcomes()...)
	return &a2aserver.Push{
		Policy: safehttp.Policy{Insecure: s.PushInsecure, Hosts: s.PushHosts}, Secrets: box, GiveUpAfter: pushTimeout,
		Observe: func(outcome push.Outcome) { outcomes.WithLabelValues(string(outcome)).Inc() },
	}, nil
}

// encryptionKeys returns the keys for secrets in the database, the one that encrypts first.
// The last is in the database itself: for those who set no other, and until then.
func (s *server) encryptionKeys(ctx context.Context) (keys [][]byte, err error) {
	for _, key := range s.EncryptionKey {
		keys = append(keys, []byte(key))
	}
	if s.AuthSecret != "" {
		keys = append(keys, []byte(s.AuthSecret))
	}
	// Processes that share a database have different local keys.
	if s.UsesLocalKey() && s.DatabaseURL == "" {
		key, err := auth.LoadLocalKey(s.Data)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	stored, err := s.store.SigningKey(ctx, domain.KeyForPush)
	return append(keys, stored), err
}
