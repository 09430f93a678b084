package worktime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/worktime"
)

// work returns the time that a process has used from now on, which has so much of a processor.
func work(share float64) func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Duration(float64(time.Since(start)) * share) }
}

func TestOnlyMeasuredTimeCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		worktime.Measure(t.Context(), work(1))() // it has no limit
		ctx, stop := worktime.WithLimit(t.Context(), 10*time.Second)
		time.Sleep(time.Hour)
		first := worktime.Measure(ctx, work(0.25))
		time.Sleep(12 * time.Second)
		first()
		first()
		time.Sleep(time.Hour)
		second := worktime.Measure(ctx, work(0.5))
		start := time.Now()
		<-ctx.Done()
		if took := time.Since(start); took < 14*time.Second || took > 14*time.Second+100*time.Millisecond || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("%v after %v", context.Cause(ctx), took)
		}
		second()
		if left := stop(); left != 0 {
			t.Errorf("%v are left", left)
		}
		ctx, stop = worktime.WithLimit(t.Context(), 10*time.Second)
		third := worktime.Measure(ctx, work(1))
		time.Sleep(4 * time.Second)
		third()
		if left := stop(); left != 6*time.Second || ctx.Err() == nil {
			t.Errorf("%v are left, %v", left, ctx.Err())
		}
		if ctx, stop := worktime.WithLimit(t.Context(), 0); ctx.Err() == nil || stop() != 0 {
			t.Error("a limit of 0 has not ended")
		}
		ended := worktime.Measure(ctx, func() time.Duration { return 0 })
		synctest.Wait()
		ended()
	})
}
