package objects

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"parley/internal/domain"
)

// unreachable has one missing object; the others cannot be opened.
type unreachable struct{ Store }

func (unreachable) ReadStart(_ context.Context, key string, _ int) ([]byte, int64, error) {
	if key == "missing" {
		return nil, 0, fmt.Errorf("%w: %s", domain.ErrNotFound, key)
	}
	return nil, 0, domain.ErrUnavailable
}

// A missing file is found also where others cannot be checked, in any order.
func TestCheckFindsMissing(t *testing.T) {
	t.Parallel()
	for missing := range 3 {
		files := []domain.DataFile{{Key: "a"}, {Key: "b"}, {Key: "c"}}
		files[missing].Key = "missing"
		if err := Check(t.Context(), unreachable{}, files); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("missing at %d: %v", missing, err)
		}
	}
}
