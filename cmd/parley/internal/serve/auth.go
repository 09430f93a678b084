package serve

import "parley/internal/auth"

func openAuthenticator(cfg config, b base) (*auth.Authenticator, error) {
	identity := cfg.auth
	if cfg.localKey {
		key, err := auth.LoadLocalKey(cfg.data)
		if err != nil {
			return nil, err
		}
		identity.LocalKey = key
	}
	identity.Tokens, identity.Log, identity.Now = b.store, b.log, now
	return auth.New(identity)
}
