// Package reader implements [llm.Jobs] without a language model: a small trained network
// translates questions to queries. It needs no internet access, is deterministic, and
// refuses questions that it does not understand.
//
// A question passes these packages: profile reads sample values of the datasets, catalog
// describes their tables and columns, link connects the words of the question with them,
// net generates the most likely queries in the language of ir, and rank runs them and
// chooses one. dialog has the texts: steps, answers, refusals. train has the programs that
// train the network.
package reader

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"parley/internal/fair"
	"parley/internal/lru"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/profile"
)

//go:embed weights.bin
var weights []byte

// load reads the weights on first use.
var load = sync.OnceValues(func() (*net.Net, error) { return net.Load(weights) })

//go:embed embedder.bin
var embedderWeights []byte

// loadEmbedder reads the embedder on first use.
var loadEmbedder = sync.OnceValue(func() *net.Embedder {
	n, err := load()
	if err != nil {
		panic(err) // a test loads both files
	}
	m, err := net.LoadEmbedder(embedderWeights, n)
	if err != nil {
		panic(err)
	}
	return m
})

// Approximate memory limits of the caches.
const (
	// cacheBytes is for profiles of datasets.
	cacheBytes = 20 << 20
	// recentBytes is for readings of recent questions, and nameBytes for the words in names
	// of datasets.
	recentBytes = 4 << 20
	nameBytes   = 4 << 20
)

// Reader implements [llm.Jobs]. It is safe for concurrent use.
type Reader struct {
	cache  *profile.Cache
	names  *lru.Cache[profile.Key, *names]
	recent *lru.Cache[[sha256.Size]byte, readResult]
	// slots limits how many questions the network processes at a time.
	slots *fair.Queue
}

// New returns a [Reader] with empty caches.
func New() *Reader {
	return &Reader{
		cache:  profile.NewCache(cacheBytes),
		names:  lru.New[profile.Key, *names](nameBytes),
		recent: lru.New[[sha256.Size]byte, readResult](recentBytes),
		slots:  fair.New(fair.Config{Slots: runtime.GOMAXPROCS(0), SlotsPerUser: runtime.GOMAXPROCS(0)}),
	}
}

// maxEmbedded is how many texts take a slot of the network at a time: other questions have their turn between.
const maxEmbedded = 32

// embed returns the embeddings of texts, in the slots of the network.
func (r *Reader) embed(ctx context.Context) dialog.Embed {
	return func(texts []string) (vectors [][]float32, err error) {
		for some := range slices.Chunk(texts, maxEmbedded) {
			release, err := r.slots.Take(ctx)
			if err != nil {
				return nil, err
			}
			vectors = append(vectors, loadEmbedder().Embed(some)...)
			release()
		}
		return vectors, nil
	}
}

// Facts describes the values of datasets, from the reader's cache.
func (r *Reader) Facts(ctx context.Context, data llm.Data, datasets []llm.Dataset) llm.Facts {
	return r.cache.Facts(ctx, data, datasets)
}

// source makes the catalog of datasets, with the values that phrases of the questions name.
func (r *Reader) source(ctx context.Context, task llm.Task, datasets []llm.Dataset, questions []string) (*source, error) {
	parts := make([]*catalog.Part, len(datasets))
	key := sha256.New()
	versions := true
	for i, d := range datasets {
		var err error
		if parts[i], err = r.cache.Part(ctx, task.Data, d); err != nil {
			return nil, err
		}
		one := profile.KeyOf(d)
		_, _ = key.Write(one[:])
		versions = versions && d.Version != ""
	}
	cat := catalog.Join(parts, task.Links)
	var phrases []string
	for _, q := range questions {
		phrases = append(phrases, link.Phrases(link.Tokenize(q), cat, task.Now)...)
	}
	cells, err := profile.SearchValues(ctx, task.Data, cat, phrases)
	if err != nil {
		return nil, err
	}
	cat = cat.WithCells(cells)
	s := &source{Catalog: cat, now: task.Now, trials: trialRunner{data: task.Data, cat: cat, remaining: maxTrialsTime}}
	if versions {
		s.key = fmt.Sprintf("%x %q %q", key.Sum(nil), fmt.Sprint(cells), fmt.Sprintf("%+v", task.Links))
	}
	return s, nil
}
