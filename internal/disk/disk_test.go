package disk

import (
	"context"
	"errors"
	"testing"

	"parley/internal/domain"
)

func TestTake(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for name, test := range map[string]struct {
		free, held, bytes int64
		full              bool
	}{
		"much is free":                           {free: 50 * gib, held: 45 * gib, bytes: 5 * gib},
		"more than is free":                      {free: 50 * gib, bytes: 50 * gib, full: true},
		"little is left, for who holds little":   {free: 9 * gib, held: gib, bytes: gib},
		"little is left, for who holds more":     {free: 9 * gib, held: 8 * gib, bytes: gib, full: true},
		"a large file takes what is scarce":      {free: 15 * gib, bytes: 10 * gib, full: true},
		"the reserve is left, for who has none":  {free: gib, bytes: 1, full: true},
		"the reserve is left, and nothing added": {free: gib},
	} {
		s := NewSpace("", func(context.Context, string) (int64, error) { return test.held, nil })
		s.measure = func(string) (usage, error) { return usage{test.free, 100 * gib}, nil }
		if err := s.Take(t.Context(), "ann", test.bytes); errors.Is(err, domain.ErrUnavailable) != test.full {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTakeRecord(t *testing.T) {
	t.Parallel()
	for free, full := range map[int64]bool{64 << 20: false, 32 << 20: false, 31 << 20: true, 0: true} {
		s := NewSpace("", nil)
		s.measure = func(string) (usage, error) { return usage{free, 200 << 20}, nil }
		if err := s.TakeRecord(); errors.Is(err, domain.ErrUnavailable) != full {
			t.Errorf("%d bytes: %v", free, err)
		}
	}
}

func TestFree(t *testing.T) {
	t.Parallel()
	if free, err := Free(t.TempDir()); err != nil || free < 0 {
		t.Error(free, err)
	}
	if _, err := Free("/no such folder"); err == nil {
		t.Error("no error")
	}
}
