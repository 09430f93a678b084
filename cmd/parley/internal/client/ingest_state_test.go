package client

import (
	"encoding/base64"
	"testing"

	"parley/cmd/parley/internal/apiclient"
	"parley/internal/domain"
)

// TestIngestState is each user's own, whichever token that is.
func TestIngestState(t *testing.T) {
	t.Parallel()
	state := func(claims string) stateFile {
		token := "x." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".y"
		file, err := newStateFile(connectionSettings{Token: token}.user(), apiclient.Ref{Owner: "self", Namespace: "shop", Name: "big"}, "append", domain.IngestOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	alice := state(`{"sub":"1","preferred_username":"alice","exp":1}`)
	if again := state(`{"sub":"1","preferred_username":"alice","exp":2}`); again != alice {
		t.Error("another token of the same user has another state")
	}
	for _, other := range []string{`{"sub":"2","preferred_username":"alice"}`, `{"sub":"1","preferred_username":"bob"}`, `{"sub":"1"}`, `{}`, `[`} {
		if state(other) == alice {
			t.Errorf("%s has alice's state", other)
		}
	}
}
