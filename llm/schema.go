package llm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"parley/internal/sqltext"
)

const (
	// maxSchema bounds what a model is told about datasets, in bytes.
	maxSchema = 24 << 10
	// maxDataset bounds what it is told about one of them.
	maxDataset = 8 << 10
	// maxNames bounds the list of those that it is told nothing else about.
	maxNames = 2 << 10
	// likelySchema is how much room there is for datasets that share no word with
	// the question: it may be asked in other words, or another language.
	likelySchema = maxSchema / 2
	// maxFacts bounds what a model is told about the values of one dataset, and
	// maxReferences about the references between datasets.
	maxFacts      = 2 << 10
	maxReferences = 2 << 10
	// factsDatasets is how many datasets it is told the values of, and factsTime how
	// long reading them may take.
	factsDatasets = 8
	factsTime     = 5 * time.Second
)

// schemaText describes the datasets that words have to do with, the likeliest
// first, and names the others. What they hold is left out where it is not known.
func (c *Chat) schemaText(ctx context.Context, task Task, words ...string) string {
	ranked := rank(task.Datasets, words)
	facts := c.facts(ctx, task.Data, ranked[:min(len(ranked), factsDatasets)])
	var out strings.Builder
	told := map[string]bool{}
	chosen := 0
	for i, r := range ranked {
		room := maxSchema
		if r.score == 0 {
			room = likelySchema
		}
		var known DatasetFacts
		if i < len(facts.Datasets) {
			known = facts.Datasets[i]
		}
		block := datasetText(r.dataset, known)
		if chosen > 0 && out.Len()+len(block) > room {
			break
		}
		out.WriteString(block)
		told[r.dataset.Name] = true
		chosen++
	}
	out.WriteString(referencesText(facts.References, told))
	if rest := ranked[chosen:]; len(rest) > 0 {
		out.WriteString(restText(rest))
	}
	return out.String()
}

// facts gives what the likeliest datasets hold, as far as that can be read in time.
// Whoever runs the query will find out why others cannot.
func (c *Chat) facts(ctx context.Context, data Data, ranked []ranking) Facts {
	if c.catalog == nil || data == nil || len(ranked) == 0 {
		return Facts{}
	}
	ctx, cancel := context.WithTimeout(ctx, factsTime)
	defer cancel()
	datasets := make([]Dataset, len(ranked))
	for i, r := range ranked {
		datasets[i] = r.dataset
	}
	return c.catalog.Facts(ctx, data, datasets)
}

func restText(rest []ranking) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d more datasets, which seem to have less to do with it:", len(rest))
	for i, r := range rest {
		if out.Len() > maxNames {
			fmt.Fprintf(&out, " and %d more", len(rest)-i)
			break
		}
		out.WriteString(" " + sqltext.Name(r.dataset.Name))
	}
	return out.String() + "\n"
}

// datasetText describes a dataset: its columns with their texts and what they hold, as
// far as there is room, and the names of the others.
func datasetText(d Dataset, facts DatasetFacts) string {
	var out strings.Builder
	fmt.Fprintf(&out, "dataset %s, %d rows", sqltext.Name(d.Name), d.Rows)
	if d.HoldsPassages() {
		out.WriteString(", passages of text")
	}
	if d.Description != "" {
		out.WriteString(": " + shorten(oneLine(d.Description), 1000))
	}
	out.WriteString("\n")
	if facts.Seen > 0 && facts.Seen < d.Rows {
		fmt.Fprintf(&out, "  values are those of the first %d rows\n", facts.Seen)
	}
	size, room := out.Len(), maxFacts
	for i, c := range d.Columns {
		line := fmt.Sprintf("  %s %s", sqltext.Name(c.Name), c.Type)
		if c.Description != "" {
			line += ": " + shorten(oneLine(c.Description), 200)
		}
		if size += len(line) + 1; size > maxDataset*3/4 {
			out.WriteString("  also: " + shorten(columnNames(d.Columns[i:]), maxDataset/4) + "\n")
			break
		}
		out.WriteString(line)
		known := facts.Columns[c.Name]
		if d.HoldsPassages() && c.Name == "text" {
			known = ColumnFacts{} // it is searched
		}
		if text := columnFacts(c, known); len(text) <= room {
			out.WriteString(text)
			room -= len(text)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

type ranking struct {
	dataset Dataset
	score   float64
}

// rank orders datasets by how many of the words occur in their names, columns
// and descriptions. The fewer of them have a word, the more it counts; one that
// most have tells nothing.
func rank(datasets []Dataset, texts []string) []ranking {
	asked := map[string]bool{}
	for _, text := range texts {
		for _, word := range wordsOf(text) {
			asked[word] = true
		}
	}
	weights := make([]map[string]float64, len(datasets))
	spread := map[string]int{}
	for i, d := range datasets {
		weights[i] = wordWeights(d, asked)
		for word := range weights[i] {
			spread[word]++
		}
	}
	ranked := make([]ranking, len(datasets))
	for i, d := range datasets {
		ranked[i].dataset = d
		for word, weight := range weights[i] {
			if len(datasets) > 3 && 2*spread[word] > len(datasets) {
				continue
			}
			ranked[i].score += weight * math.Log(1+float64(len(datasets))/float64(spread[word]))
		}
	}
	slices.SortStableFunc(ranked, func(a, b ranking) int { return cmp.Compare(b.score, a.score) })
	return ranked
}

// wordWeights says which of the words that were asked for a dataset has, and how
// much they count there.
func wordWeights(d Dataset, asked map[string]bool) map[string]float64 {
	weights := map[string]float64{}
	note := func(text string, weight float64) {
		for _, word := range wordsOf(text) {
			if asked[word] {
				weights[word] = max(weights[word], weight)
			}
		}
	}
	note(d.Name, 4)
	note(d.Description, 1)
	for _, c := range d.Columns {
		note(c.Name, 2)
		note(c.Description, 1)
	}
	return weights
}

// wordsOf splits text into words in lower case, also where the case changes
// (orderDate), and takes off the plural.
func wordsOf(text string) []string {
	var spaced strings.Builder
	var before rune
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		} else if unicode.IsUpper(r) && unicode.IsLower(before) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(r))
		before = r
	}
	words := strings.Fields(spaced.String())
	for i, word := range words {
		words[i] = singular(word)
	}
	return words
}

func singular(word string) string {
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss"):
		return word[:len(word)-1]
	}
	return word
}
