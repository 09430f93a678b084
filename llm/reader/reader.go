// Package reader does the jobs of [llm.Jobs] without a language model: it reads questions
// into queries with a small network that was trained for it. It needs no network access,
// gives the same query for the same question every time, and says so when it does not
// understand one.
//
// A question goes through these packages: profile reads what the datasets hold, catalog
// says what that means, link finds what the words have to do with it, net writes the
// likeliest queries in the language of ir under its grammar, and rank runs them and
// chooses. train has what the network was trained with.
package reader

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"runtime"
	"sync"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/lru"
	"parley/llm/reader/net"
	"parley/llm/reader/profile"
)

//go:embed weights.bin
var weights []byte

// load reads the weights, once.
var load = sync.OnceValues(func() (*net.Net, error) { return net.Load(weights) })

// Limits of memory, about.
const (
	// cacheBytes is for what is known of datasets.
	cacheBytes = 20 << 20
	// recentBytes is for questions that were read, and nameBytes for the words of names.
	recentBytes = 4 << 20
	nameBytes   = 4 << 20
)

// Reader does the jobs of a language model. It is safe for concurrent use.
type Reader struct {
	cache  *profile.Cache
	names  *lru.Cache[profile.Key, *names]
	recent *lru.Cache[[sha256.Size]byte, readResult]
	// slots has room for as many questions as are read at a time.
	slots chan struct{}
}

// New makes a [Reader] that knows no dataset yet.
func New() *Reader {
	return &Reader{
		cache:  profile.NewCache(cacheBytes),
		names:  lru.New[profile.Key, *names](nameBytes),
		recent: lru.New[[sha256.Size]byte, readResult](recentBytes),
		slots:  make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
}

// Catalog says what datasets hold, from the same cache that the reader has.
func (r *Reader) Catalog() llm.Catalog { return r.cache }

// source makes the catalog of some datasets, and adds values that phrases of questions
// name.
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
	cat := catalog.Join(parts, nil)
	var phrases []string
	for _, q := range questions {
		phrases = append(phrases, link.Phrases(link.Tokenize(q), cat, task.Now)...)
	}
	cells, err := profile.LookUp(ctx, task.Data, cat, phrases)
	if err != nil {
		return nil, err
	}
	cat = cat.WithCells(cells)
	s := &source{Catalog: cat, now: task.Now, trials: trialRunner{data: task.Data, cat: cat, remaining: maxTrialsTime}}
	if versions {
		s.key = fmt.Sprintf("%x %q", key.Sum(nil), fmt.Sprint(cells))
	}
	return s, nil
}
