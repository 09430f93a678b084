package console

import (
	"strings"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for name, test := range map[string]struct {
		style Style
		total int64
		want  string
	}{
		"of unknown size, in a log": {Style{}, -1, "" +
			"sending: 400.0 MiB\n" +
			"sending: 1000.0 MiB\n" +
			"sending: 900.0 MiB\n"},
		"of unknown size": {Style{Width: 80}, -1, "" +
			"\r\x1b[Ksending: 300.0 MiB, 100.0 MiB/s" +
			"\r\x1b[Ksending: 350.0 MiB, 50.0 MiB/s" +
			"\r\x1b[Ksending: 400.0 MiB, 50.0 MiB/s" +
			"\r\x1b[Ksending: 400.0 MiB" +
			"\r\x1b[Ksending: 1000.0 MiB, 12.5 MiB/s" +
			"\r\x1b[Ksending: 1000.0 MiB, 12.0 MiB/s" +
			"\r\x1b[Ksending: 1000.0 MiB" +
			"\r\x1b[Ksending: 900.0 MiB"},
		"in a log": {Style{}, 1000 << 20, "" +
			"sending: 30 %, 300.0 MiB of 1000.0 MiB, 100.0 MiB/s, 7 s left\n" +
			"sending: 40 %, 400.0 MiB of 1000.0 MiB, 50.0 MiB/s, 12 s left\n" +
			"sending: 40 %, 400.0 MiB of 1000.0 MiB\n" +
			"sending: sent; storing\n" +
			"sending: sent; storing, for 40 s\n" +
			"sending: 90 %, 900.0 MiB of 1000.0 MiB\n"},
		"on a terminal": {Style{Width: 80}, 1000 << 20, "" +
			"\r\x1b[Ksending [====           ]  30 %  300.0 MiB of 1000.0 MiB, 100.0 MiB/s, 7 s left" +
			"\r\x1b[Ksending [=====          ]  35 %  350.0 MiB of 1000.0 MiB, 50.0 MiB/s, 13 s left" +
			"\r\x1b[Ksending [======         ]  40 %  400.0 MiB of 1000.0 MiB, 50.0 MiB/s, 12 s left" +
			"\r\x1b[Ksending [=========               ]  40 %  400.0 MiB of 1000.0 MiB" +
			"\r\x1b[Ksending: sent; storing" +
			"\r\x1b[Ksending: sent; storing, for 2 s" +
			"\r\x1b[Ksending: sent; storing, for 40 s" +
			"\r\x1b[Ksending [=====================   ]  90 %  900.0 MiB of 1000.0 MiB"},
		"on a narrow terminal": {Style{Width: 50}, 1000 << 20, "" +
			"\r\x1b[Ksending  30 %  300.0 MiB of 1000.0 MiB, 100.0 Mi…" +
			"\r\x1b[Ksending  35 %  350.0 MiB of 1000.0 MiB, 50.0 MiB…" +
			"\r\x1b[Ksending  40 %  400.0 MiB of 1000.0 MiB, 50.0 MiB…" +
			"\r\x1b[Ksending [===     ]  40 %  400.0 MiB of 1000.0 MiB" +
			"\r\x1b[Ksending: sent; storing" +
			"\r\x1b[Ksending: sent; storing, for 2 s" +
			"\r\x1b[Ksending: sent; storing, for 40 s" +
			"\r\x1b[Ksending [======= ]  90 %  900.0 MiB of 1000.0 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			var done, fresh int64
			m := Meter{live: Live{W: &got, Style: test.style}, what: "sending", then: "sent; storing", total: test.total, started: start, lastLine: start,
				measure: func() (int64, int64) { return done, fresh }}
			for _, step := range []struct{ second, mib int64 }{{1, 100}, {2, 150}, {3, 200}, {50, 200}, {51, 800}, {53, 800}, {91, 800}, {122, 700}} {
				fresh = step.mib << 20
				done = fresh + 200<<20 // was there already
				m.show(start.Add(time.Duration(step.second) * time.Second))
			}
			if got.String() != test.want {
				t.Errorf("got  %q\nwant %q", got.String(), test.want)
			}
		})
	}
	for want, d := range map[string]time.Duration{"0 s": time.Millisecond, "59 s": 59 * time.Second, "1 min 0 s": time.Minute, "2 h 5 min": 125 * time.Minute} {
		if got := Duration(d); got != want {
			t.Errorf("%v is %q", d, got)
		}
	}
	for want, bytes := range map[string]int64{"0 B": 0, "1023 B": 1023, "1.0 KiB": 1 << 10, "1.5 GiB": 3 << 29, "2048.0 TiB": 2 << 50} {
		if got := Bytes(bytes); got != want {
			t.Errorf("%d is %q, want %q", bytes, got, want)
		}
	}
}
