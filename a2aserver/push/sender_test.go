package push

import (
	"testing"

	"parley/internal/domain"
)

// A config that waits and is found again waits once: one receiver does not take the places of
// others.
func TestWaitsOnce(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	s.open.Store(true)
	due := make([]domain.DuePush, ownerSending+1)
	for i := range due {
		due[i] = domain.DuePush{RunID: "run", ID: string(rune('a' + i)), Owner: "alice", Receiver: "slow"}
	}
	if admitted := s.admit(due, false); len(admitted) != ownerSending {
		t.Fatalf("%d admitted", len(admitted))
	}
	for range 3 {
		s.Notify("run")
		waiting, _, _ := s.takeChanged()
		if admitted := s.admit(append(waiting, due...), false); len(admitted) != 0 || len(s.waiting) != 1 {
			t.Errorf("%d admitted, %d wait", len(admitted), len(s.waiting))
		}
	}
}

// Slow configs of others to a receiver, such as a gateway for many, do not keep a user's waiting.
func TestReceiverOfMany(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	var due []domain.DuePush
	for i := range receiverSending {
		due = append(due, domain.DuePush{RunID: "run", ID: string(rune('a' + i)), Owner: string(rune('A' + i/ownerSending)), Receiver: "gateway"})
	}
	if admitted := s.admit(due, false); len(admitted) != receiverSending {
		t.Fatalf("%d admitted", len(admitted))
	}
	bobs := []domain.DuePush{{RunID: "bobs", ID: "1", Owner: "bob", Receiver: "gateway"}, {RunID: "bobs", ID: "2", Owner: "bob", Receiver: "gateway"}}
	if admitted := s.admit(bobs, false); len(admitted) != 1 {
		t.Errorf("%d of bob's admitted", len(admitted))
	}
}
