package rank

import (
	_ "embed"
	"encoding/json"
	"math"
	"slices"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// Features are the numbers by which readings are compared, in the order of [FeatureNames].
type Features []float64

// FeatureNames name the features by which readings are compared.
var FeatureNames = []string{"probability", "values left out", "names left out", "words unread", "words weakly read", "empty", "repeated rows", "length", "many rows"}

// featuresOf computes the features of a reading.
func featuresOf(r *Reading, c coverage) Features {
	return Features{
		math.Log(max(r.Probability, 1e-6)), capped(c.values, 3), capped(c.names, 3), capped(len(c.unread)-c.names, 4), capped(c.weak, 4),
		indicator(r.Empty), indicator(r.Repeated), float64(len(r.Tokens)) / 10, indicator(r.Rows > 100),
	}
}

func capped(n, most int) float64 { return float64(min(n, most)) }

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Calibration has the weights of features, fitted on questions that the network was not
// trained on.
type Calibration struct {
	// Rank compares readings of one question, in the order of [FeatureNames].
	Rank []float64 `json:"rank"`
	// Confidence has a weight for each of [FeatureNames], then those of
	// [ConfidenceNames], and a constant.
	Confidence []float64 `json:"confidence"`
}

// ConfidenceNames name the further features of the confidence.
var ConfidenceNames = []string{"share", "lead over the second", "answerable", "odds", "follows", "one table", "by position", "texts read as numbers"}

// Threshold is the confidence from which on a reading is a sure answer: on validation databases of
// Spider more than nine of ten answers are right with it, on everyday questions five of six.
const Threshold = llm.SureConfidence

// thresholdUnread is the confidence from which on a reading with unread words is a sure answer:
// the data may lack what they mean. maxUnread is the highest confidence of others.
const (
	thresholdUnread = 0.8
	maxUnread       = 0.69
)

// IsSure reports whether a reading with this confidence is a sure answer.
func IsSure(confidence float64) bool { return confidence >= Threshold }

//go:embed calibration.json
var calibrationFile []byte

// calibration panics on an invalid file, which is embedded: every test would fail.
var calibration = func() (c Calibration) {
	if err := json.Unmarshal(calibrationFile, &c); err != nil {
		panic(err)
	}
	if len(c.Rank) != len(FeatureNames) || len(c.Confidence) != len(FeatureNames)+len(ConfidenceNames)+1 {
		panic("rank: the calibration has other features")
	}
	return c
}()

// setShares sets the share of each reading: a softmax of their scores.
func setShares(all []Reading) {
	highest := math.Inf(-1)
	for i := range all {
		all[i].Share = weightedSum(calibration.Rank, all[i].Features)
		highest = max(highest, all[i].Share)
	}
	sum := 0.0
	for i := range all {
		all[i].Share = math.Exp(all[i].Share - highest)
		sum += all[i].Share
	}
	for i := range all {
		all[i].Share /= sum
	}
}

// setConfidence sets the confidence of each reading.
func setConfidence(q *Question, all []Reading) {
	for i := range all {
		second := 0.0
		for k := range all {
			if k != i {
				second = max(second, all[k].Share)
			}
		}
		x := slices.Concat(all[i].Features, ConfidenceFeatures(all[i].Features, all[i].Share, second, q.Answerable), all[i].Circumstances, Features{1})
		all[i].Confidence = 1 / (1 + math.Exp(-weightedSum(calibration.Confidence, x)))
		if all[i].guessed || all[i].Unreadable >= 0 || all[i].uncounted && all[i].Confidence < minCount {
			all[i].Confidence = min(all[i].Confidence, maxGuess)
		}
		if len(all[i].Unread) > 0 && all[i].Confidence < thresholdUnread {
			all[i].Confidence = min(all[i].Confidence, maxUnread)
		}
	}
}

// ConfidenceFeatures returns the first of [ConfidenceNames]: those that depend on the
// ranking and on probabilities.
func ConfidenceFeatures(reading Features, share, second, answerable float64) Features {
	return Features{share, math.Log(max(share, 1e-4)) - math.Log(max(second, 1e-4)), logOdds(answerable, 1e-4), logOdds(math.Exp(reading[0]), 1e-3)}
}

// logOdds returns the logit of a probability, which is at least least and at most 1-least.
func logOdds(probability, least float64) float64 {
	p := min(max(probability, least), 1-least)
	return math.Log(p / (1 - p))
}

// circumstances returns the other features of [ConfidenceNames].
func circumstances(q *Question, r *Reading) Features {
	position, parsed := false, false
	for _, t := range r.Tokens {
		switch t.Class {
		case ir.Keyword:
			position = position || t.Is("rowid") || t.Is("after") || t.Is("before")
		case ir.ColumnRef:
			c := &q.Catalog.Columns[t.N]
			parsed = parsed || !c.Native && c.Kind != catalog.Text
		}
	}
	return Features{indicator(q.Input.Earlier > 0), indicator(len(q.Catalog.Tables) == 1), indicator(position), indicator(parsed)}
}

func weightedSum(weights []float64, x Features) float64 {
	sum := 0.0
	for i, w := range weights {
		sum += w * x[i]
	}
	return sum
}
