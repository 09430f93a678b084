package rank

import "testing"

func TestAboutEqual(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, second float64
		want          bool
	}{
		{0.5, 0.4, true}, {0.6, 0.3, true}, {0.4, 0.6, true}, {0.5, 0.25, true},
		{0.9, 0.1, false}, {0.7, 0.3, false}, {0.4, 0.3, false}, {0, 0, false},
	} {
		if got := AboutEqual(test.first, test.second); got != test.want {
			t.Errorf("AboutEqual(%v, %v) = %v", test.first, test.second, got)
		}
	}
}
