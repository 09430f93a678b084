// Command calibrate fits the weights of ranking and confidence, on results of measure for
// questions that the network was not trained on.
//
//	calibrate RESULTS... > ../../rank/calibration.json
//
// It logs the figures of a cross-validation over databases.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"hash/fnv"
	"log"
	"math"
	"os"
	"slices"

	"parley/llm/reader/rank"
	"parley/llm/reader/train/outcome"
)

const (
	// rounds of gradient descent, the length of a step, and how much large weights cost.
	rounds       = 4000
	learningRate = 0.05
	weightDecay  = 0.002
	// publicWeight is how much a question about a published table counts for the confidence.
	publicWeight = 4
	// folds is how many parts the databases are cut into for the check.
	folds = 6
)

func main() {
	log.SetFlags(0)
	var all []outcome.Outcome
	for _, path := range os.Args[1:] {
		all = append(all, load(path)...)
	}
	check(all)
	c := fit(all)
	for i, name := range rank.FeatureNames {
		log.Printf("%-22s rank %6.2f confidence %6.2f", name, c.Rank[i], c.Confidence[i])
	}
	for i, name := range rank.ConfidenceNames {
		log.Printf("%-22s                confidence %6.2f", name, c.Confidence[len(rank.FeatureNames)+i])
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", " ")
	if err := e.Encode(c); err != nil {
		log.Fatal(err)
	}
}

func load(path string) []outcome.Outcome {
	f, err := os.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	var all []outcome.Outcome
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		var o outcome.Outcome
		if err := json.Unmarshal(s.Bytes(), &o); err != nil {
			log.Fatal(err)
		}
		all = append(all, o)
	}
	if err := s.Err(); err != nil {
		log.Fatal(err)
	}
	return all
}

// check fits on some databases and measures on others, in turn.
func check(all []outcome.Outcome) {
	fold := func(o *outcome.Outcome) int {
		h := fnv.New32a()
		h.Write([]byte(o.Set + "/" + o.Database))
		return int(h.Sum32() % folds)
	}
	var judged []judgement
	before, best, asked := 0, 0, 0
	for f := range folds {
		var fitted, left []outcome.Outcome
		for i := range all {
			if fold(&all[i]) == f {
				left = append(left, all[i])
			} else {
				fitted = append(fitted, all[i])
			}
		}
		judged = append(judged, apply(fit(fitted), left)...)
	}
	for i := range all {
		if all[i].None {
			continue
		}
		asked++
		if likeliest := byProbability(&all[i]); likeliest >= 0 && all[i].Readings[likeliest].Right {
			before++
		}
		if all[i].Any() {
			best++
		}
	}
	right := 0
	for _, j := range judged {
		if j.right {
			right++
		}
	}
	log.Printf("%d questions with an answer, %d without; by the network's probability %.1f %% are right, ranked %.1f %%, at best %.1f %%", asked, len(all)-asked,
		100*float64(before)/float64(asked), 100*float64(right)/float64(asked), 100*float64(best)/float64(asked))
	slices.SortStableFunc(judged, func(a, b judgement) int { return cmp.Compare(b.confidence, a.confidence) })
	right = 0
	for i, j := range judged {
		if j.right {
			right++
		}
		if n := i + 1; n*10/len(judged) > i*10/len(judged) {
			log.Printf("  answers %3d %%: precision %.1f %% at %.3f", n*100/len(judged), 100*float64(right)/float64(n), j.confidence)
		}
	}
}

func byProbability(o *outcome.Outcome) int {
	best := -1
	for i, r := range o.Readings {
		if best < 0 || r.Features[0] > o.Readings[best].Features[0] {
			best = i
		}
	}
	return best
}

// judgement is a best reading, how sure it is, and whether it is right.
type judgement struct {
	confidence float64
	right      bool
}

// apply reads the questions again with a calibration.
func apply(c rank.Calibration, all []outcome.Outcome) []judgement {
	judged := make([]judgement, len(all))
	for i := range all {
		best, x := bestOf(c.Rank, &all[i])
		if best >= 0 {
			judged[i] = judgement{sigmoid(dot(c.Confidence, x)), all[i].Readings[best].Right}
		}
	}
	return judged
}

// bestOf returns the best reading and what its confidence rests on.
func bestOf(weights []float64, o *outcome.Outcome) (int, []float64) {
	shares := softmax(weights, o)
	best, second := -1, 0.0
	for i, s := range shares {
		switch {
		case best < 0 || s > shares[best]:
			if best >= 0 {
				second = shares[best]
			}
			best = i
		case s > second:
			second = s
		}
	}
	if best < 0 {
		return -1, nil
	}
	x := slices.Clone(o.Readings[best].Features)
	x = append(x, rank.ConfidenceFeatures(x, shares[best], second, o.Answerable)...)
	x = append(x, o.Readings[best].Circumstances...)
	return best, append(x, 1)
}

func softmax(weights []float64, o *outcome.Outcome) []float64 {
	shares := make([]float64, len(o.Readings))
	highest, sum := math.Inf(-1), 0.0
	for i, r := range o.Readings {
		shares[i] = dot(weights, r.Features)
		highest = max(highest, shares[i])
	}
	for i := range shares {
		shares[i] = math.Exp(shares[i] - highest)
		sum += shares[i]
	}
	for i := range shares {
		shares[i] /= sum
	}
	return shares
}

// fit finds the weights by gradient descent.
func fit(all []outcome.Outcome) rank.Calibration {
	c := rank.Calibration{Rank: make([]float64, len(rank.FeatureNames)), Confidence: make([]float64, len(rank.FeatureNames)+len(rank.ConfidenceNames)+1)}
	c.Rank[0] = 1
	minimize(c.Rank, func(slope []float64) float64 { return rankGradient(all, c.Rank, slope) })
	type sample struct {
		x             []float64
		right, weight float64
	}
	var samples []sample
	for i := range all {
		if best, x := bestOf(c.Rank, &all[i]); best >= 0 {
			samples = append(samples, sample{x, 0, weightOf(&all[i])})
			if all[i].Readings[best].Right {
				samples[len(samples)-1].right = 1
			}
		}
	}
	minimize(c.Confidence, func(slope []float64) float64 {
		sum := 0.0
		for _, s := range samples {
			add(slope, s.x, s.weight*(sigmoid(dot(c.Confidence, s.x))-s.right))
			sum += s.weight
		}
		return sum
	})
	return c
}

// weightOf returns how much a question counts for the confidence. Real tables are harder to read than those that were made
// for questions, and their answers must be as reliable.
func weightOf(o *outcome.Outcome) float64 {
	if o.Set == "public" {
		return publicWeight
	}
	return 1
}

// rankGradient adds up how the weights must change for right readings to win.
func rankGradient(all []outcome.Outcome, weights, slope []float64) float64 {
	n := 0.0
	for i := range all {
		o := &all[i]
		shares := softmax(weights, o)
		right := 0.0
		for k, r := range o.Readings {
			if r.Right {
				right += shares[k]
			}
		}
		if right == 0 || right == 1 {
			continue
		}
		n++
		for k, r := range o.Readings {
			want := 0.0
			if r.Right {
				want = shares[k] / right
			}
			add(slope, r.Features, shares[k]-want)
		}
	}
	return n
}

// minimize lowers a loss whose slope is given, by steps of Adam's method.
func minimize(weights []float64, slopeOf func(slope []float64) float64) {
	mean, square := make([]float64, len(weights)), make([]float64, len(weights))
	for round := 1; round <= rounds; round++ {
		slope := make([]float64, len(weights))
		n := slopeOf(slope)
		for i := range weights {
			g := slope[i]/max(n, 1) + weightDecay*weights[i]
			mean[i] = 0.9*mean[i] + 0.1*g
			square[i] = 0.999*square[i] + 0.001*g*g
			m, v := mean[i]/(1-math.Pow(0.9, float64(round))), square[i]/(1-math.Pow(0.999, float64(round)))
			weights[i] -= learningRate * (1 - float64(round)/float64(rounds+1)) * m / (math.Sqrt(v) + 1e-8)
		}
	}
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func add(to, x []float64, by float64) {
	for i, v := range x {
		to[i] += v * by
	}
}
