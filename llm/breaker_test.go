package llm

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b breaker
		call := func(how outcome) error {
			leave, err := b.allow()
			if err == nil {
				leave(how)
			}
			return err
		}
		for range openAfter - 1 {
			if err := call(callFailed); err != nil {
				t.Fatal(err)
			}
		}
		if err := call(callSucceeded); err != nil {
			t.Fatal(err)
		}
		slow, err := b.allow()
		if err != nil {
			t.Fatal(err)
		}
		for range openAfter { // a success begins the count anew
			if err := call(callFailed); err != nil {
				t.Fatal(err)
			}
		}
		if err := call(callSucceeded); !errors.Is(err, errBreakerOpen) {
			t.Fatalf("open: %v", err)
		}
		time.Sleep(openFor)
		leave, err := b.allow()
		if err != nil {
			t.Fatalf("after the rest: %v", err)
		}
		slow(callCanceled) // from before the rest
		if _, err := b.allow(); !errors.Is(err, errBreakerOpen) {
			t.Errorf("a second one beside the first: %v", err)
		}
		leave(callCanceled)
		if err := call(callFailed); err != nil {
			t.Errorf("a try that was given up counts: %v", err)
		}
		if err := call(callSucceeded); !errors.Is(err, errBreakerOpen) {
			t.Errorf("a failed try does not begin the rest anew: %v", err)
		}
		time.Sleep(openFor)
		for range 2 {
			if err := call(callSucceeded); err != nil {
				t.Errorf("a success does not close it: %v", err)
			}
		}
	})
}

// One user's failures stop nobody else.
func TestBreakersOfUsers(t *testing.T) {
	t.Parallel()
	var b breakers
	for range openAfter {
		record, err := b.of("ann").allow()
		if err != nil {
			t.Fatal(err)
		}
		record(callFailed)
	}
	if _, err := b.of("ann").allow(); err == nil {
		t.Error("ann is not stopped")
	}
	if _, err := b.of("bob").allow(); err != nil {
		t.Errorf("bob is stopped: %v", err)
	}
}
