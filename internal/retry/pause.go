package retry

import (
	"math/rand/v2"
	"time"
)

// Pause returns the pause after a number of failures in a row, for a caller that counts them
// itself, such as in a database.
func (p Policy) Pause(failures int) time.Duration {
	pause := p.Initial
	for range failures - 1 {
		if pause >= p.Max {
			break
		}
		pause *= 2
	}
	pause = min(pause, p.Max)
	if p.Jitter {
		pause -= rand.N(pause/2 + 1)
	}
	return pause
}
