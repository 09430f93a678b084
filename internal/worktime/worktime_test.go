package worktime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/worktime"
)

func TestPausesDoNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		worktime.Pause(t.Context())() // it has no limit
		start := time.Now()
		ctx, stop := worktime.WithLimit(t.Context(), 10*time.Second)
		time.Sleep(3 * time.Second)
		first := worktime.Pause(ctx)
		time.Sleep(time.Hour)
		second := worktime.Pause(ctx)
		first()
		first()
		time.Sleep(time.Hour)
		second()
		<-ctx.Done()
		if took := time.Since(start); took != 2*time.Hour+10*time.Second || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("%v after %v", context.Cause(ctx), took)
		}
		if left := stop(); left != 0 {
			t.Errorf("%v are left", left)
		}
		ctx, stop = worktime.WithLimit(t.Context(), 10*time.Second)
		time.Sleep(4 * time.Second)
		if left := stop(); left != 6*time.Second || ctx.Err() == nil {
			t.Errorf("%v are left, %v", left, ctx.Err())
		}
	})
}
