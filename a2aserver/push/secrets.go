package push

import (
	"encoding/json"
	"fmt"

	"parley/internal/domain"
	"parley/internal/seal"
)

// Secrets are what only the receiver of a config and this server know.
type Secrets struct {
	// Token is sent with each event, and signs it.
	Token string `json:"token,omitempty"`
	// Credentials follow the config's scheme in the header Authorization.
	Credentials string `json:"credentials,omitempty"`
}

// Seal encrypts the secrets of a config, for its owner, id and URL alone: in another row of
// the database they do not open.
func (s Secrets) Seal(box *seal.Box, owner string, config domain.PushConfig) ([]byte, error) {
	if s == (Secrets{}) {
		return nil, nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write secrets: %w", err)
	}
	return box.Seal(text, sealedFor(owner, config)), nil
}

func openSecrets(box *seal.Box, owner string, config domain.PushConfig) (secrets Secrets, err error) {
	if config.Secrets == nil {
		return secrets, nil
	}
	text, err := box.Open(config.Secrets, sealedFor(owner, config))
	if err == nil {
		err = json.Unmarshal(text, &secrets)
	}
	if err != nil {
		return secrets, fmt.Errorf("read secrets: %w", err)
	}
	return secrets, nil
}

func sealedFor(owner string, config domain.PushConfig) []byte {
	return fmt.Appendf(nil, "%q %q %q", owner, config.ID, config.URL)
}
