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
			leave, err := b.enter()
			if err == nil {
				leave(how)
			}
			return err
		}
		for range tiredAfter - 1 {
			if err := call(missed); err != nil {
				t.Fatal(err)
			}
		}
		if err := call(reached); err != nil {
			t.Fatal(err)
		}
		slow, err := b.enter()
		if err != nil {
			t.Fatal(err)
		}
		for range tiredAfter { // a success begins the count anew
			if err := call(missed); err != nil {
				t.Fatal(err)
			}
		}
		if err := call(reached); !errors.Is(err, errTired) {
			t.Fatalf("open: %v", err)
		}
		time.Sleep(restFor)
		leave, err := b.enter()
		if err != nil {
			t.Fatalf("after the rest: %v", err)
		}
		slow(unclear) // from before the rest
		if _, err := b.enter(); !errors.Is(err, errTired) {
			t.Errorf("a second one beside the first: %v", err)
		}
		leave(unclear)
		if err := call(missed); err != nil {
			t.Errorf("a try that was given up counts: %v", err)
		}
		if err := call(reached); !errors.Is(err, errTired) {
			t.Errorf("a failed try does not begin the rest anew: %v", err)
		}
		time.Sleep(restFor)
		for range 2 {
			if err := call(reached); err != nil {
				t.Errorf("a success does not close it: %v", err)
			}
		}
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := sleep(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}
