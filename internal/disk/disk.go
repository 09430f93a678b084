// Package disk shares the room on a server's disk among its users. A part of the disk stays
// free, so that records can be deleted and the server starts; and where little is left, nobody
// takes it from those who hold less.
package disk

import (
	"context"
	"fmt"
	"time"

	"parley/internal/domain"
	"parley/internal/lru"
)

const (
	// reserveShare is the part of a disk that files leave free, within bounds. Records of
	// questions leave half of it.
	reserveShare = 50
	minReserve   = 64 << 20
	maxReserve   = 1 << 30
	// scarceShare is the part of a disk from which on what is left is scarce.
	scarceShare = 10
	// recordShare is the part of what is left of the reserve that a user may hold who adds records.
	recordShare = 8
)

// usage is how much of a disk is free, and how large it is.
type usage struct{ free, total int64 }

func (u usage) reserve() int64 { return min(max(u.total/reserveShare, minReserve), maxReserve) }

// Free returns how many bytes of a folder's disk files may still take, 0 where only the reserve
// is left.
func Free(folder string) (int64, error) {
	u, err := measure(folder)
	return max(u.free-u.reserve(), 0), err
}

// Space is the room on the disk of a folder.
type Space struct {
	folder string
	users  Users
	// recent has what users held a moment ago: to count it takes long.
	recent *lru.Cache[string, held]
	// measure is replaced in tests.
	measure func(folder string) (usage, error)
}

// held is how much a user held at a time.
type held struct {
	bytes int64
	at    time.Time
}

const (
	// heldTTL is how long what a user holds is remembered, of at most maxHeld users.
	heldTTL = 5 * time.Second
	maxHeld = 1024
)

var errFull = domain.Errorf(domain.ErrUnavailable, "there is no room left on the server's disk; delete what you do not need, or try again later")

// Users says what is stored for users.
type Users interface {
	// HeldBytes returns how many bytes the files and records of a user take; 0 for the only user.
	HeldBytes(ctx context.Context, owner string) (int64, error)
	// SpareBytes returns how many bytes of the database on this disk are free for other records.
	SpareBytes(ctx context.Context) (int64, error)
}

// NewSpace returns the room on the disk of a folder.
func NewSpace(folder string, users Users) *Space {
	return &Space{folder, users, lru.New[string, held](maxHeld), measure}
}

// CheckFiles is ErrUnavailable where there is no room for files of a user: the disk is full, or little
// is left and the user holds more than that.
func (s *Space) CheckFiles(ctx context.Context, owner string, bytes int64) error {
	if s == nil {
		return nil
	}
	u, err := s.measure(s.folder)
	if err != nil {
		return fmt.Errorf("%w: look at the disk: %w", domain.ErrUnavailable, err)
	}
	return s.check(ctx, owner, bytes, u.free-u.reserve(), u)
}

// CheckRecord is CheckFiles for a record in the database. Where it is scarce, who holds much leaves the room
// of files alone.
func (s *Space) CheckRecord(ctx context.Context, owner string) error {
	if s == nil {
		return nil
	}
	u, err := s.measure(s.folder)
	if err != nil {
		return fmt.Errorf("%w: look at the disk: %w", domain.ErrUnavailable, err)
	}
	ofFiles, left := u.free-u.reserve(), u.free-u.reserve()/2
	if ofFiles < u.total/scarceShare {
		spare, err := s.users.SpareBytes(ctx)
		if err != nil {
			return err
		}
		ofFiles, left = ofFiles+spare, left+spare
	}
	if left < 0 {
		return errFull
	}
	return s.check(ctx, owner, 0, max(ofFiles, left/recordShare), u)
}

// check is ErrUnavailable where bytes are more than what is left, or leave less than the user holds
// where it is scarce.
func (s *Space) check(ctx context.Context, owner string, bytes, left int64, u usage) error {
	left -= bytes
	switch {
	case left < 0:
		return errFull
	case left >= u.total/scarceShare:
		return nil
	}
	mine, err := s.heldBy(ctx, owner)
	if err != nil {
		return err
	}
	if mine+bytes > left {
		return domain.Errorf(domain.ErrUnavailable, "little room is left on the server's disk, and your files and questions take %d MiB of it; delete some of them first", mine>>20)
	}
	return nil
}

func (s *Space) heldBy(ctx context.Context, owner string) (int64, error) {
	if known, ok := s.recent.Get(owner); ok && time.Since(known.at) < heldTTL {
		return known.bytes, nil
	}
	bytes, err := s.users.HeldBytes(ctx, owner)
	if err == nil {
		s.recent.Put(owner, held{bytes, time.Now()}, 1)
	}
	return bytes, err
}
