package retry_test

import (
	"testing"
	"time"

	"parley/internal/retry"
)

func TestPause(t *testing.T) {
	t.Parallel()
	policy := retry.Policy{Initial: time.Second, Max: 10 * time.Second}
	for failures, want := range map[int]time.Duration{
		0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 6: 10, 100: 10, 1 << 30: 10,
	} {
		if got := policy.Pause(failures); got != want*time.Second {
			t.Errorf("after %d failures: %v", failures, got)
		}
	}
	policy.Jitter = true
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		pause := policy.Pause(5)
		least, most = min(least, pause), max(most, pause)
	}
	if least < 5*time.Second || most > 10*time.Second || most-least < 4*time.Second {
		t.Errorf("from %v to %v", least, most)
	}
}
