package net

import (
	"math"

	"parley/internal/lru"
	"parley/llm/reader/pieces"
)

// maxEmbedding limits the pieces of a text that count.
const maxEmbedding = 64

// Embedder is the pretrained encoder as it was before it was trained to read questions: it puts
// texts of a similar meaning near each other. It is safe for concurrent use.
type Embedder struct {
	pieces   *pieces.Vocabulary
	language *language
	// known has the vectors of texts.
	known *lru.Cache[string, []float32]
}

// knownBytes limits the vectors that are remembered.
const knownBytes = 16 << 20

// LoadEmbedder reads a file like that of [Load], without the vectors of pieces: these are those of the
// network.
func LoadEmbedder(file []byte, n *Net) (*Embedder, error) {
	var h header
	tensors, err := h.read(file)
	if err == nil {
		err = h.Language.check()
	}
	if err != nil {
		return nil, err
	}
	tensors["language.piece.weight"] = *n.language.piece
	l := &loader{tensors: tensors}
	return &Embedder{n.pieces, l.language(h.Language, len(n.Pieces)), lru.New[string, []float32](knownBytes)}, l.err
}

// Embed returns a vector for each text, of length 1: those of texts of a similar meaning have a large
// product.
func (m *Embedder) Embed(texts []string) [][]float32 {
	vectors := make([][]float32, len(texts))
	var fresh []int
	var sequences [][]int32
	for i, text := range texts {
		if vectors[i], _ = m.known.Get(text); vectors[i] == nil {
			fresh = append(fresh, i)
			sequences = append(sequences, append(m.pieces.Append([]int32{pieces.Begin}, text, maxEmbedding-2), pieces.End))
		}
	}
	for at, rows := range m.language.encode(sequences) {
		i := fresh[at]
		vector, length := make([]float32, rows.cols), 0.0
		for k := range rows.rows {
			addTo(vector, rows.row(k))
		}
		for _, x := range vector {
			length += float64(x) * float64(x)
		}
		for k := range vector {
			vector[k] /= float32(math.Sqrt(max(length, 1e-9)))
		}
		vectors[i] = vector
		m.known.Put(texts[i], vector, len(texts[i])+4*len(vector))
	}
	return vectors
}
