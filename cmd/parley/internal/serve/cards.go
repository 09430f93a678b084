package serve

import (
	"context"
	"fmt"

	"parley/cards"
	"parley/internal/domain"
)

// openSigner opens what signs cards. Replicas that share a database have the same key.
func (s *server) openSigner(ctx context.Context) (*cards.Signer, error) {
	var keys []cards.Key
	for _, path := range s.CardKeys {
		key, err := readCardKey(path)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		secret, err := s.store.SigningKey(ctx, domain.KeyForCards)
		if err != nil {
			return nil, fmt.Errorf("read the key of agent cards: %w", err)
		}
		key, err := cards.DeriveKey(secret)
		if err != nil {
			return nil, fmt.Errorf("make the key of agent cards: %w", err)
		}
		keys = []cards.Key{key}
	}
	return cards.NewSigner(keys...)
}
