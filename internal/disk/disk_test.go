package disk

import (
	"context"
	"errors"
	"testing"

	"parley/internal/domain"
)

func TestCheckFiles(t *testing.T) {
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
		s := NewSpace("", users{test.held, 0})
		s.measure = func(string) (usage, error) { return usage{test.free, 100 * gib}, nil }
		if err := s.CheckFiles(t.Context(), "ann", test.bytes); errors.Is(err, domain.ErrUnavailable) != test.full {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckRecord(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, test := range map[string]struct {
		free, held, spare int64
		full              bool
	}{
		"the reserve of files":               {free: 64 * mib, held: 3 * mib},
		"half of it":                         {free: 32 * mib},
		"less":                               {free: 31 * mib, full: true},
		"less, and room in the database":     {free: 31 * mib, spare: 2 * mib},
		"the reserve, for who holds more":    {free: 64 * mib, held: 5 * mib, full: true},
		"little, for who holds more":         {free: 74 * mib, held: 11 * mib, full: true},
		"little, for who holds less":         {free: 74 * mib, held: 9 * mib},
		"little, and room in the database":   {free: 74 * mib, held: 11 * mib, spare: 5 * mib},
		"much, for who holds all the others": {free: 150 * mib, held: 50 * mib},
	} {
		s := NewSpace("", users{test.held, test.spare})
		s.measure = func(string) (usage, error) { return usage{test.free, 200 * mib}, nil }
		if err := s.CheckRecord(t.Context(), "ann"); errors.Is(err, domain.ErrUnavailable) != test.full {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// users has what each user holds, and what is free in the database.
type users struct{ held, spare int64 }

func (u users) HeldBytes(context.Context, string) (int64, error) { return u.held, nil }
func (u users) SpareBytes(context.Context) (int64, error)        { return u.spare, nil }

func TestFree(t *testing.T) {
	t.Parallel()
	if free, err := Free(t.TempDir()); err != nil || free < 0 {
		t.Error(free, err)
	}
	if _, err := Free("/no such folder"); err == nil {
		t.Error("no error")
	}
}
