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
	_ "embed"
	"sync"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/net"
	"parley/llm/reader/profile"
)

//go:embed weights.bin
var weights []byte

// load reads the weights, once.
var load = sync.OnceValues(func() (*net.Net, error) { return net.Load(weights) })

// cacheBytes is about how much memory what is known of datasets may take.
const cacheBytes = 24 << 20

// Reader does the jobs of a language model. It is safe for concurrent use.
type Reader struct {
	cache *profile.Cache
	names nameCache
}

// New makes a [Reader] that knows no dataset yet.
func New() *Reader { return &Reader{cache: profile.NewCache(cacheBytes)} }

// catalog makes the catalog of some datasets.
func (r *Reader) catalog(ctx context.Context, data llm.Data, datasets []llm.Dataset) (*catalog.Catalog, error) {
	parts := make([]*catalog.Part, len(datasets))
	for i, d := range datasets {
		var err error
		if parts[i], err = r.cache.Part(ctx, data, d); err != nil {
			return nil, err
		}
	}
	return catalog.Join(parts, nil), nil
}
