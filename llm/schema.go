package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"parley/internal/sqltext"
	"parley/internal/words"
)

// Limits of the datasets in a prompt, in bytes where nothing else is said.
const (
	maxSchema  = 24 << 10
	maxDataset = 8 << 10
	// maxNames is for the list of datasets that are only named.
	maxNames = 2 << 10
	// likelySchema is for datasets that share no word with the question, which may be
	// asked in other words, or another language.
	likelySchema = maxSchema / 2
	// maxFacts is for the values of one dataset.
	maxFacts      = 2 << 10
	maxReferences = 2 << 10
	// factsDatasets is how many datasets have facts.
	factsDatasets = 8
	factsTimeout  = 5 * time.Second
)

// schemaText describes the datasets that match some texts best, and names the others.
func (c *Chat) schemaText(ctx context.Context, task Task, texts ...string) string {
	ranked := rank(task.Datasets, texts)
	facts := c.facts(ctx, task.Data, ranked[:min(len(ranked), factsDatasets)])
	var out strings.Builder
	described := map[string]bool{}
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
		described[r.dataset.Name] = true
		chosen++
	}
	out.WriteString(referencesText(task.Links, facts.Links, described))
	if rest := ranked[chosen:]; len(rest) > 0 {
		out.WriteString(restText(rest))
	}
	return out.String()
}

// facts describes the values of the likeliest datasets, as far as they can be read in time.
func (c *Chat) facts(ctx context.Context, data Data, ranked []ranking) Facts {
	if c.readFacts == nil || data == nil || len(ranked) == 0 {
		return Facts{}
	}
	ctx, cancel := context.WithTimeout(ctx, factsTimeout)
	defer cancel()
	datasets := make([]Dataset, len(ranked))
	for i, r := range ranked {
		datasets[i] = r.dataset
	}
	return c.readFacts(ctx, data, datasets)
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

// datasetText describes a dataset: its columns with their descriptions and facts, as far as
// there is room, and the names of the others.
func datasetText(d Dataset, facts DatasetFacts) string {
	var out strings.Builder
	fmt.Fprintf(&out, "dataset %s, %d rows", sqltext.Name(d.Name), d.Rows)
	if d.HoldsPassages() {
		out.WriteString(", passages of text")
	}
	if d.DisplayName != "" {
		out.WriteString(", called " + oneLine(d.DisplayName))
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
			known = ColumnFacts{} // it is for searches
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

// rank orders datasets by how many words of the texts occur in their names, columns and
// descriptions. The fewer datasets have a word, the more it counts; one that most have
// does not count.
func rank(datasets []Dataset, texts []string) []ranking {
	wanted := map[string]bool{}
	for _, word := range words.Of(strings.Join(texts, " ")) {
		wanted[word] = true
	}
	weights := make([]map[string]float64, len(datasets))
	spread := map[string]int{}
	for i, d := range datasets {
		weights[i] = wordWeights(d, wanted)
		for word := range weights[i] {
			spread[word]++
		}
	}
	ranked := make([]ranking, len(datasets))
	for i, d := range datasets {
		ranked[i].dataset = d
		for _, word := range slices.Sorted(maps.Keys(weights[i])) { // sums depend on the order
			if len(datasets) <= 3 || 2*spread[word] <= len(datasets) {
				ranked[i].score += weights[i][word] * math.Log(1+float64(len(datasets))/float64(spread[word]))
			}
		}
	}
	slices.SortStableFunc(ranked, func(a, b ranking) int { return cmp.Compare(b.score, a.score) })
	return ranked
}

// wordWeights returns the wanted words that a dataset has, with their weights.
func wordWeights(d Dataset, wanted map[string]bool) map[string]float64 {
	weights := map[string]float64{}
	note := func(text string, weight float64) {
		for _, word := range words.Of(text) {
			if wanted[word] {
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
