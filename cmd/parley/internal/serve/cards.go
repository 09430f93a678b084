package serve

import (
	"context"
	"fmt"
	"os"
	"strings"

	"parley/cards"
	"parley/cmd/parley/internal/command"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// cardSettings say what agent cards are signed with.
type cardSettings struct {
	CardKeys string `placeholder:"LIST" help:"Files with private keys (PEM, P-256 or Ed25519) that sign agent cards, separated by commas. The first signs; all are published. By default, Parley creates a key in the database."`
}

// cardConfig is what cardSettings say, read.
type cardConfig struct {
	keys []cards.Key // none for the one in the database
}

// maxKeyFile limits what is read of a key file, in bytes.
const maxKeyFile = 64 << 10

func (s cardSettings) read(c *command.Checker) (cfg cardConfig) {
	if strings.TrimSpace(s.CardKeys) == "" {
		return cfg
	}
	for path := range strings.SplitSeq(s.CardKeys, ",") {
		key, err := readCardKey(strings.TrimSpace(path))
		if err != nil {
			c.Refuse("card-keys", "must name files with private keys: %v", err)
			continue
		}
		cfg.keys = append(cfg.keys, key)
	}
	return cfg
}

func readCardKey(path string) (cards.Key, error) {
	info, err := os.Stat(path)
	if err != nil {
		return cards.Key{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxKeyFile {
		return cards.Key{}, fmt.Errorf("%s is no file of at most %d bytes", path, maxKeyFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return cards.Key{}, err
	}
	key, err := cards.ParseKey(text)
	if err != nil {
		return cards.Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// openSigner opens what signs cards. Replicas that share a database have the same key.
func openSigner(ctx context.Context, cfg cardConfig, store *sqlstore.Store) (*cards.Signer, error) {
	keys := cfg.keys
	if len(keys) == 0 {
		secret, err := store.SigningKey(ctx, domain.KeyForCards)
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
