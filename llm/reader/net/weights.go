// Package net runs the reader's network, an encoder and decoder of the transformer kind: it
// encodes an input and generates the most likely queries by beam search under the grammar.
// It is deterministic. The input comes from package link; running and ranking queries is
// left to package rank.
package net

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/pieces"
)

// Limits of a file of weights.
const (
	maxHeader  = 1 << 20
	maxNumbers = 64 << 20
	maxWidth   = 1024
	maxLayers  = 32
)

// header is the JSON header of a file of weights.
type header struct {
	D         int      `json:"d"`
	Heads     int      `json:"heads"`
	Encoder   int      `json:"encoder"`
	Decoder   int      `json:"decoder"`
	Keywords  []string `json:"keywords"`
	Relations int      `json:"relations"`
	// Hidden are the relations that the network does not use.
	Hidden  []int `json:"hidden"`
	Kinds   int   `json:"kinds"`
	Buckets int   `json:"buckets"`
	// BagScale multiplies the pieces of values.
	BagScale float32        `json:"bagScale"`
	Language languageHeader `json:"language"`
	// Pieces is the vocabulary of the language encoder.
	Pieces  []string `json:"pieces"`
	Tensors []struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
		// Type is "int8", or empty for float16.
		Type string `json:"type"`
	} `json:"tensors"`
}

// linear is a linear layer.
type linear struct {
	weight packedMatrix
	bias   []float32
}

type norm struct{ weight, bias []float32 }

type encoderLayer struct {
	qkv, out, up, down linear
	// relation has, for each head, a vector for each relation.
	relation     []groups
	norm1, norm2 norm
}

type decoderLayer struct {
	qkv, out, query, keys, cross, up, down linear
	norm1, norm2, norm3                    norm
}

// Net is the network with its weights. It is safe for concurrent use.
type Net struct {
	header
	pieces   *pieces.Vocabulary
	language *language

	word, cell, pointed, say, point, item, judge, answerable linear
	earlier, kind, bucket, place, keyword, step              []float32
	// bias has, for each head of each encoder layer, a number for each relation.
	bias []float32
	// used has the bits of the relations that the network uses.
	used          uint64
	encoderLayers []encoderLayer
	decoderLayers []decoderLayer
	norm, last    norm
}

// Load reads a file of weights: "PRLR", the length of the JSON header in four bytes, the
// header, and each tensor of its list as float16, or as a float32 for each row, its scale,
// and int8. All numbers are little endian. The network refers to the file, which must not change.
func Load(file []byte) (*Net, error) {
	n := &Net{}
	tensors, err := n.read(file)
	if err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	if n.pieces, err = pieces.New(n.Pieces); err != nil {
		return nil, err
	}
	n.used = math.MaxUint64
	for _, r := range n.Hidden {
		n.used &^= 1 << r
	}
	l := &loader{tensors: tensors}
	if n.build(l); l.err != nil {
		return nil, l.err
	}
	return n, nil
}

// read reads a file of weights.
func (h *header) read(file []byte) (map[string]tensor, error) {
	if len(file) < 8 || string(file[:4]) != "PRLR" {
		return nil, errors.New("not a file of weights")
	}
	length := int(binary.LittleEndian.Uint32(file[4:]))
	if length > maxHeader || length > len(file)-8 {
		return nil, errors.New("the head of the weights is too long")
	}
	if err := json.Unmarshal(file[8:8+length], h); err != nil {
		return nil, fmt.Errorf("read the head of the weights: %w", err)
	}
	return h.readTensors(file[8+length:])
}

// check compares the header with the language and the inputs of this program. Weights may
// lack the last keywords of the language, which are never generated then.
func (n *Net) check() error {
	switch {
	case n.D <= 0 || n.D > maxWidth || n.Heads <= 0 || n.D%n.Heads != 0:
		return fmt.Errorf("weights of width %d with %d heads", n.D, n.Heads)
	case n.Encoder <= 0 || n.Encoder > maxLayers || n.Decoder <= 0 || n.Decoder > maxLayers:
		return fmt.Errorf("weights of %d and %d layers", n.Encoder, n.Decoder)
	case len(n.Keywords) > len(ir.Keywords) || !slices.Equal(n.Keywords, ir.Keywords[:len(n.Keywords)]):
		return errors.New("the weights are for another language")
	case n.Relations != int(link.Relations) || n.Kinds != link.Kinds || n.Buckets != link.Buckets:
		return errors.New("the weights are for other inputs")
	case slices.ContainsFunc(n.Hidden, func(r int) bool { return r < 0 || r >= n.Relations }):
		return errors.New("the weights do not use a relation that does not exist")
	}
	return n.Language.check()
}

// tensor has its numbers as they are in the file. A row is what has the same first index.
type tensor struct {
	shape []int
	rows  int
	width int
	// scales has a float32 for each row of int8 numbers; nil for float16.
	scales []byte
	data   []byte
}

func (h *header) readTensors(data []byte) (map[string]tensor, error) {
	all := make(map[string]tensor, len(h.Tensors))
	for _, h := range h.Tensors {
		size := 1
		for _, d := range h.Shape {
			if d <= 0 || d > maxNumbers/size {
				return nil, fmt.Errorf("tensor %s of shape %v", h.Name, h.Shape)
			}
			size *= d
		}
		t := tensor{shape: h.Shape, rows: 1}
		if len(h.Shape) > 0 {
			t.rows = h.Shape[0]
		}
		t.width = size / t.rows
		scales, length := 0, 2*size
		switch h.Type {
		case "":
		case "int8":
			scales, length = 4*t.rows, size
		default:
			return nil, fmt.Errorf("tensor %s of type %q", h.Name, h.Type)
		}
		if len(data) < scales+length {
			return nil, fmt.Errorf("the weights end in tensor %s", h.Name)
		}
		t.scales, t.data = data[:scales], data[scales:scales+length]
		all[h.Name], data = t, data[scales+length:]
	}
	if len(data) > 0 {
		return nil, errors.New("the weights go on after their last tensor")
	}
	return all, nil
}

// scale returns the scale of a row of int8 numbers.
func (t *tensor) scale(row int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(t.scales[4*row:]))
}

// floats sets to the numbers of a row. It reports whether all of them are finite.
func (t *tensor) floats(to []float32, row int) (finite bool) {
	if len(t.scales) == 0 {
		return fromHalves(to, t.data[2*row*t.width:])
	}
	scale := t.scale(row)
	for i, b := range t.data[row*t.width : (row+1)*t.width] {
		to[i] = float32(int8(b)) * scale
	}
	return finiteScale(scale)
}

// integers sets to the numbers of a row, rounded if they are not int8, and returns their
// scale. It uses buffer, which has the length of a row.
func (t *tensor) integers(to []int16, buffer []float32, row int) (scale float32, finite bool) {
	if len(t.scales) == 0 {
		finite = t.floats(buffer, row)
		return quantize(to, buffer, maxWeight), finite
	}
	for i, b := range t.data[row*t.width : (row+1)*t.width] {
		to[i] = int16(int8(b))
	}
	scale = t.scale(row)
	return scale, finiteScale(scale)
}

// finiteScale reports whether all products of a scale with an int8 are finite.
func finiteScale(scale float32) bool {
	return !math.IsNaN(float64(scale)) && !math.IsInf(float64(scale*math.MinInt8), 0)
}

// fromHalves converts numbers from float16. It reports whether all of them are finite.
func fromHalves(to []float32, halves []byte) (finite bool) {
	const exponents = 31 << 10
	halves = halves[:2*len(to)]
	highest := uint16(0)
	for i := range to {
		h := binary.LittleEndian.Uint16(halves[2*i : 2*i+2])
		highest = max(highest, h&exponents)
		to[i] = fromHalf(h)
	}
	return highest < exponents
}

// fromHalf converts a finite float16 to float32; one that is not finite becomes a large
// number. The bits have the same order, and the exponent has another bias.
func fromHalf(h uint16) float32 {
	const exponents = 1 << 112
	return math.Float32frombits(uint32(h>>15)<<31|uint32(h&0x7fff)<<13) * exponents
}

// loader returns tensors by name and checks their shapes.
type loader struct {
	tensors map[string]tensor
	err     error
}

// find returns a tensor as it is in the file. After the first error it returns nil.
func (l *loader) find(name string, shape ...int) *tensor {
	t := l.tensors[name]
	if !slices.Equal(t.shape, shape) && l.err == nil {
		l.err = fmt.Errorf("tensor %s has the shape %v, not %v", name, t.shape, shape)
	}
	if l.err != nil {
		return nil
	}
	return &t
}

// check records an error if numbers of a tensor are not finite.
func (l *loader) check(name string, finite bool) {
	if !finite && l.err == nil {
		l.err = fmt.Errorf("tensor %s has numbers that are not finite", name)
	}
}

// take returns the numbers of a tensor. Once there was an error it returns nil.
func (l *loader) take(name string, shape ...int) []float32 {
	t := l.find(name, shape...)
	if t == nil {
		return nil
	}
	numbers := make([]float32, t.rows*t.width)
	for i := range t.rows {
		l.check(name, t.floats(numbers[i*t.width:(i+1)*t.width], i))
	}
	return numbers
}

func (l *loader) linear(name string, in, out int) linear {
	bias := l.take(name+".bias", out)
	name += ".weight"
	t := l.find(name, out, in)
	if t == nil {
		return linear{}
	}
	packed, row, buffer := newPackedMatrix(in, out), make([]int16, in), make([]float32, in)
	for o := range out {
		scale, finite := t.integers(row, buffer, o)
		l.check(name, finite)
		packed.set(o, row, scale)
	}
	return linear{packed, bias}
}

// relation returns the vectors of relations, packed for each head.
func (l *loader) relation(name string, heads, relations, width int) []groups {
	data := l.take(name, heads, relations, width)
	if l.err != nil {
		return nil
	}
	all := make([]groups, heads)
	for h := range all {
		x := matrix{data[h*relations*width:][:relations*width], relations, width}
		all[h] = columnGroups(make([]float32, groupsSize(relations, width)), x, 0, width)
	}
	return all
}

func (l *loader) norm(name string, d int) norm {
	return norm{l.take(name+".weight", d), l.take(name+".bias", d)}
}

func (n *Net) build(l *loader) {
	d := n.D
	n.language = l.language(n.Language, len(n.Pieces))
	n.word, n.cell = l.linear("word", n.Language.D, d), l.linear("cell", n.Language.D, d)
	n.earlier = l.take("earlier.weight", len(n.Keywords), d)
	n.kind, n.bucket = l.take("kind.weight", n.Kinds, d), l.take("bucket.weight", n.Buckets, d)
	n.place, n.step = l.take("place.weight", maxPositions, d), l.take("step.weight", maxSteps, d)
	n.keyword = l.take("keyword.weight", len(n.Keywords)+1, d)
	n.bias = l.take("bias.weight", n.Encoder*n.Heads, n.Relations)
	n.pointed, n.point, n.item = l.linear("pointed", d, d), l.linear("point", d, d), l.linear("item", d, d)
	n.say = l.linear("say", d, len(n.Keywords))
	n.judge, n.answerable = l.linear("judge", 2*d, d), l.linear("answerable", d, 1)
	n.norm, n.last = l.norm("norm", d), l.norm("last", d)
	for i := range n.Encoder {
		at := fmt.Sprintf("encoder.%d.", i)
		n.encoderLayers = append(n.encoderLayers, encoderLayer{
			qkv: l.linear(at+"qkv", d, 3*d), out: l.linear(at+"out", d, d), up: l.linear(at+"up", d, 4*d), down: l.linear(at+"down", 4*d, d),
			relation: l.relation(at+"relation", n.Heads, n.Relations, d/n.Heads), norm1: l.norm(at+"norm1", d), norm2: l.norm(at+"norm2", d),
		})
	}
	for i := range n.Decoder {
		at := fmt.Sprintf("decoder.%d.", i)
		n.decoderLayers = append(n.decoderLayers, decoderLayer{
			qkv: l.linear(at+"qkv", d, 3*d), out: l.linear(at+"out", d, d), query: l.linear(at+"query", d, d), keys: l.linear(at+"keys", d, 2*d),
			cross: l.linear(at+"cross", d, d), up: l.linear(at+"up", d, 4*d), down: l.linear(at+"down", 4*d, d),
			norm1: l.norm(at+"norm1", d), norm2: l.norm(at+"norm2", d), norm3: l.norm(at+"norm3", d),
		})
	}
}
