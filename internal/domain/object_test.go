package domain

import "testing"

func TestPlan(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		plan  PartPlan
		sizes []int64
	}{
		{PartPlan{Size: 10, PartSize: 4}, []int64{0, 4, 4, 2, 0}},
		{PartPlan{Size: 8, PartSize: 4}, []int64{0, 4, 4, 0}},
		{PartPlan{Size: 1, PartSize: 4}, []int64{0, 1, 0}},
		{PartPlan{Size: 0, PartSize: 4}, []int64{0, 0}},
		{PartPlan{Size: -1, PartSize: 4}, []int64{0, 0}},
		{PartPlan{Size: 4}, []int64{0, 0}},
	} {
		for number, want := range tt.sizes {
			if got := tt.plan.Part(number); got != want {
				t.Errorf("%+v: part %d has %d bytes, want %d", tt.plan, number, got, want)
			}
		}
		if got, want := tt.plan.Parts(), len(tt.sizes)-2; got != max(want, 0) && tt.plan.Size > 0 && tt.plan.PartSize > 0 {
			t.Errorf("%+v has %d parts, want %d", tt.plan, got, want)
		}
	}
}
