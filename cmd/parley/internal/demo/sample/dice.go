package sample

// dice are numbers that look random and are the same each time, whatever the
// version of Go: SplitMix64.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below gives a number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// pick gives an index into weights, in their proportion.
func (d *dice) pick(weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	at := d.below(total)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	panic("sample: weights that add up to nothing")
}
