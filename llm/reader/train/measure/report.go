package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"parley/llm/reader/rank"
	"parley/llm/reader/train/outcome"
)

// report prints the figures of each set and of all.
func report(all []outcome.Outcome) {
	bySet := map[string][]outcome.Outcome{}
	var sets []string
	for _, o := range all {
		set := o.Set
		if o.Follows {
			set += " follow-ups"
		}
		if bySet[set] == nil {
			sets = append(sets, set)
		}
		bySet[set] = append(bySet[set], o)
	}
	slices.Sort(sets)
	fmt.Printf("%-20s %6s %7s %7s | at %.2f: %7s %9s %12s | %s\n", "", "asked", "right", "of all", rank.Threshold, "answers", "precision", "of no answer", "p50, p99 with queries")
	for _, s := range sets {
		line(s, bySet[s])
	}
	line("all", all)
	for _, s := range sets {
		choices(s, bySet[s])
	}
	choices("all", all)
	curve(all)
	reliability(all)
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// figures are what outcomes come to.
type figures struct {
	// asked have an answer, of which right were read right first, and any in some way.
	asked, right, any int
	// answered are above the threshold, precise are those of them that are right.
	answered, precise int
	// none have no answer; answeredNone of them got one.
	none, answeredNone int
	// chosen are left to the asker to choose a reading of, offered are those of them with
	// the right one among the two, and first those where it is the first.
	chosen, offered, first int
}

func count(list []outcome.Outcome) (f figures) {
	for i := range list {
		o := &list[i]
		answers := o.Answered()
		add := func(n *int, when bool) {
			if when {
				*n++
			}
		}
		add(&f.answered, answers)
		add(&f.precise, answers && o.Right())
		add(&f.none, o.None)
		add(&f.answeredNone, o.None && answers)
		add(&f.asked, !o.None)
		add(&f.right, !o.None && o.Right())
		add(&f.any, !o.None && o.Any())
		add(&f.chosen, o.Alternative > 0)
		add(&f.offered, o.Offered())
		add(&f.first, o.Alternative > 0 && o.Right())
	}
	return f
}

// line prints accuracy, the share that has a right reading at all, and how it does at
// the threshold; then of how many questions without an answer it answers.
func line(name string, list []outcome.Outcome) {
	f := count(list)
	times := make([]time.Duration, len(list))
	for i := range list {
		times[i] = list[i].Took
	}
	slices.Sort(times)
	fmt.Printf("%-20s %6d %5.1f %% %5.1f %% | %12.1f %% %7.1f %% %5d of %3d | %v %v\n", name, f.asked, percent(f.right, f.asked), percent(f.any, f.asked),
		percent(f.answered, len(list)), percent(f.precise, f.answered), f.answeredNone, f.none,
		times[len(times)/2].Round(time.Millisecond), times[len(times)*99/100].Round(time.Millisecond))
}

// choices prints how often the asker is asked which reading is meant, and how often the right
// one is offered.
func choices(name string, list []outcome.Outcome) {
	f := count(list)
	fmt.Printf("   %-20s asks back %3d of %4d, %.1f %%: right among the two %.0f %%, as the first %.0f %%\n", name, f.chosen, len(list), percent(f.chosen, len(list)),
		percent(f.offered, f.chosen), percent(f.first, f.chosen))
}

// curve prints precision and coverage at some confidences.
func curve(list []outcome.Outcome) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b outcome.Outcome) int { return cmp.Compare(b.Confidence(), a.Confidence()) })
	right, next := 0, 10
	for i := range list {
		if list[i].Right() {
			right++
		}
		if (i+1)*100 >= next*len(list) {
			fmt.Printf("   answers %3d %%: precision %.1f %% at %.3f\n", next, percent(right, i+1), list[i].Confidence())
			next += 10
		}
	}
}

// reliability prints the share that is right in ten bins of confidence.
func reliability(list []outcome.Outcome) {
	var asked, right [10]int
	for i := range list {
		bin := min(int(list[i].Confidence()*10), 9)
		asked[bin]++
		if list[i].Right() {
			right[bin]++
		}
	}
	for bin := range asked {
		fmt.Printf("   confidence %.1f to %.1f: %4d asked, %5.1f %% right\n", float64(bin)/10, float64(bin+1)/10, asked[bin], percent(right[bin], asked[bin]))
	}
}
