package net

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// smallWeights makes a file of random weights for a network of few, some of them int8.
func smallWeights() []byte {
	const d, heads = 16, 2
	type shape struct {
		Name  string `json:"name"`
		Shape []int  `json:"shape"`
		Type  string `json:"type,omitempty"`
	}
	var tensors []shape
	add := func(name string, size ...int) {
		kind := ""
		if strings.HasPrefix(name, "decoder") || strings.HasPrefix(name, "language.piece") || name == "earlier.weight" {
			kind = "int8"
		}
		tensors = append(tensors, shape{name, size, kind})
	}
	linear := func(name string, in, out int) { add(name+".weight", out, in); add(name+".bias", out) }
	norm := func(name string) { add(name+".weight", d); add(name+".bias", d) }
	language := languageHeader{D: 8, Heads: 2, Layers: 1}
	for name, in := range map[string]int{"word": language.D, "cell": language.D, "pointed": d, "point": d, "item": d, "judge": 2 * d} {
		linear(name, in, d)
	}
	linear("say", d, len(ir.Keywords))
	linear("answerable", d, 1)
	for name, rows := range map[string]int{"earlier": len(ir.Keywords), "kind": link.Kinds, "bucket": link.Buckets, "place": maxPositions, "step": maxSteps, "keyword": len(ir.Keywords) + 1} {
		add(name+".weight", rows, d)
	}
	add("bias.weight", heads, int(link.Relations))
	norm("norm")
	norm("last")
	for name, size := range map[string][2]int{"qkv": {d, 3 * d}, "out": {d, d}, "up": {d, 4 * d}, "down": {4 * d, d}} {
		linear("encoder.0."+name, size[0], size[1])
		linear("decoder.0."+name, size[0], size[1])
	}
	linear("decoder.0.query", d, d)
	linear("decoder.0.keys", d, 2*d)
	linear("decoder.0.cross", d, d)
	add("encoder.0.relation", heads, int(link.Relations), d/heads)
	for i := 1; i <= 3; i++ {
		norm(fmt.Sprintf("decoder.0.norm%d", i))
		if i < 3 {
			norm(fmt.Sprintf("encoder.0.norm%d", i))
		}
	}
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "how", "order", "##s"}
	languageTensors(language, len(words), add)
	head, err := json.Marshal(map[string]any{"language": language, "pieces": words, "d": d, "heads": heads, "encoder": 1, "decoder": 1, "keywords": ir.Keywords,
		"relations": link.Relations, "kinds": link.Kinds, "buckets": link.Buckets, "bagScale": 1, "tensors": tensors})
	if err != nil {
		panic(err)
	}
	file := append([]byte("PRLR"), binary.LittleEndian.AppendUint32(nil, uint32(len(head)))...)
	file = append(file, head...)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, t := range tensors {
		n := 1
		for _, s := range t.Shape {
			n *= s
		}
		if t.Type == "int8" {
			for range t.Shape[0] {
				file = binary.LittleEndian.AppendUint32(file, math.Float32bits(0.5/127))
			}
			for range n {
				file = append(file, byte(rng.IntN(255)-127))
			}
			continue
		}
		for range n {
			// Between a quarter and a half, of either sign.
			file = binary.LittleEndian.AppendUint16(file, uint16(rng.IntN(2))<<15|13<<10|uint16(rng.IntN(1024)))
		}
	}
	return file
}

// TestDecode writes queries with weights that mean nothing: each is whole by the
// grammar, and the same every time.
func TestDecode(t *testing.T) {
	t.Parallel()
	n, err := Load(smallWeights())
	if err != nil {
		t.Fatal(err)
	}
	cat := catalogtest.Shop()
	tokens := link.Tokenize("How many orders in Hamburg were over 100 in 2024?")
	in := link.New(tokens, cat, link.Values(tokens, cat, time.Date(2025, 6, 15, 0, 0, 0, 0, time.UTC)), nil, nil)
	first := n.Encode(in)
	candidates := n.Decode(first, cat)
	if first.Answerable <= 0 || first.Answerable >= 1 {
		t.Errorf("answerable by %v", first.Answerable)
	}
	for i, c := range candidates {
		if !ir.Valid(c.Tokens) {
			t.Errorf("not a query: %s", ir.Text(c.Tokens))
		}
		if c.Score > 0 || math.IsNaN(c.Score) || i > 0 && c.Score > candidates[i-1].Score {
			t.Errorf("candidate %d has the score %v", i, c.Score)
		}
	}
	for range 3 {
		e := n.Encode(in)
		if again := n.Decode(e, cat); !reflect.DeepEqual(again, candidates) || e.Answerable != first.Answerable {
			t.Fatalf("the second time: %v\nthe first: %v", again, candidates)
		}
	}
}

func TestFloat16(t *testing.T) {
	t.Parallel()
	for h, want := range map[uint16]float32{0: 0, 0x3c00: 1, 0xc000: -2, 0x3555: 0.33325195, 0x0001: 5.9604645e-08, 0x7bff: 65504, 0x8400: -6.1035156e-05} {
		if got := fromHalf(h); got != want {
			t.Errorf("%#x is %v, want %v", h, got, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	good := smallWeights()
	for name, file := range map[string][]byte{
		"nothing": nil, "text": []byte("hello, world"), "cut off": good[:len(good)-2], "longer": append(append([]byte{}, good...), 0, 0),
		"long head": append([]byte("PRLR\xff\xff\xff\x7f"), good[8:]...),
	} {
		if _, err := Load(file); err == nil {
			t.Errorf("%s was loaded", name)
		}
	}
}

// otherHead returns a file of weights whose head was changed.
func otherHead(file []byte, change func(head map[string]any)) []byte {
	length := binary.LittleEndian.Uint32(file[4:])
	var head map[string]any
	if err := json.Unmarshal(file[8:8+length], &head); err != nil {
		panic(err)
	}
	change(head)
	text, err := json.Marshal(head)
	if err != nil {
		panic(err)
	}
	return slices.Concat(file[:4], binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text, file[8+length:])
}

// badHeads are changes of a head that make it one of another network, or of none.
var badHeads = map[string]func(head map[string]any){
	"width":      func(h map[string]any) { h["d"] = 32 },
	"huge width": func(h map[string]any) { h["d"], h["heads"] = 1<<40, 1 },
	"largest": func(h map[string]any) {
		h["d"], h["heads"], h["encoder"], h["decoder"] = maxWidth, 1, maxLayers, maxLayers
	},
	"no heads":        func(h map[string]any) { h["heads"] = 0 },
	"layers":          func(h map[string]any) { h["encoder"] = 2 },
	"negative layers": func(h map[string]any) { h["decoder"] = -1 },
	"keywords":        func(h map[string]any) { h["keywords"] = []string{"select"} },
	"relations":       func(h map[string]any) { h["relations"] = 64 },
	"pieces":          func(h map[string]any) { h["pieces"] = []string{"a"} },
	"no pieces":       func(h map[string]any) { delete(h, "pieces") },
	"no language":     func(h map[string]any) { h["language"] = map[string]any{} },
	"no tensors":      func(h map[string]any) { h["tensors"] = nil },
	"huge tensor":     func(h map[string]any) { shapeOf(h)["shape"] = []int{1 << 20, 1 << 20, 1 << 20, 1 << 20} },
	"negative tensor": func(h map[string]any) { shapeOf(h)["shape"] = []int{-1, -100} },
	"unknown type":    func(h map[string]any) { shapeOf(h)["type"] = "int4" },
	"another type":    func(h map[string]any) { shapeOf(h)["type"] = "int8" },
	"flat tensor":     func(h map[string]any) { shapeOf(h)["shape"] = []int{1600} },
	"another tensor":  func(h map[string]any) { shapeOf(h)["name"] = "other" },
}

// shapeOf returns the first tensor of a head.
func shapeOf(head map[string]any) map[string]any {
	return head["tensors"].([]any)[0].(map[string]any)
}

// TestLoadHeads loads files whose head says what does not fit: errors, and no memory
// for what is not there.
func TestLoadHeads(t *testing.T) { // measures memory: not beside other tests
	good := smallWeights()
	if _, err := Load(otherHead(good, func(map[string]any) {})); err != nil {
		t.Fatal(err)
	}
	for name, change := range badHeads {
		file := otherHead(good, change)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load(file)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s was loaded", name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s took %d bytes", name, used)
		}
	}
}

// TestLoadNotFinite has a number or a scale that is not finite in each tensor, first or
// last.
func TestLoadNotFinite(t *testing.T) {
	t.Parallel()
	good := smallWeights()
	at := 8 + int(binary.LittleEndian.Uint32(good[4:]))
	var head header
	if err := json.Unmarshal(good[8:at], &head); err != nil {
		t.Fatal(err)
	}
	for i, tensor := range head.Tensors {
		size := 1
		for _, d := range tensor.Shape {
			size *= d
		}
		end, places := at+2*size, []int{at, at + 2*size - 2}
		if tensor.Type == "int8" {
			end, places = at+4*tensor.Shape[0]+size, []int{at, at + 4*tensor.Shape[0] - 4}
		}
		for _, place := range places {
			bad := slices.Clone(good)
			if tensor.Type == "int8" {
				binary.LittleEndian.PutUint32(bad[place:], []uint32{0x7f800000, 0xff800000, 0x7fc00001, math.Float32bits(3e38)}[i%4])
			} else {
				binary.LittleEndian.PutUint16(bad[place:], []uint16{0x7c00, 0xfc00, 0x7e01}[i%3])
			}
			if _, err := Load(bad); err == nil || !strings.Contains(err.Error(), tensor.Name) {
				t.Errorf("%s with a number that is not finite: %v", tensor.Name, err)
			}
		}
		at = end
	}
}

// TestInt8 reads a tensor of two rows of int8: numbers times the scale of their row, and
// weights that are not rounded again.
func TestInt8(t *testing.T) {
	t.Parallel()
	n := &Net{}
	if err := json.Unmarshal([]byte(`{"tensors":[{"name":"a.weight","shape":[2,3],"type":"int8"},{"name":"a.bias","shape":[2]}]}`), &n.header); err != nil {
		t.Fatal(err)
	}
	tensors, err := n.readTensors([]byte{0, 0, 0, 0x3f, 0, 0, 0, 0xc0, 127, 0x81, 0, 3, 0xff, 0x80, 0, 0, 0, 0})
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{tensors: tensors}
	want := []float32{63.5, -63.5, 0, -6, 2, 256}
	if got := l.take("a.weight", 2, 3); !slices.Equal(got, want) {
		t.Errorf("the numbers are %v, want %v", got, want)
	}
	layer := l.linear("a", 3, 2)
	if l.err != nil {
		t.Fatal(l.err)
	}
	for k := range 3 {
		x := newMatrix(1, 3)
		x.data[k] = 2
		if got := layer.apply(x, new(scratch)).data; !slices.Equal(got, []float32{2 * want[k], 2 * want[3+k]}) {
			t.Errorf("the outputs for input %d are %v", k, got)
		}
	}
}

func FuzzLoad(f *testing.F) {
	good := smallWeights()
	f.Add(good)
	f.Add(good[:200])
	for _, change := range badHeads {
		f.Add(otherHead(good, change))
	}
	f.Fuzz(func(_ *testing.T, file []byte) { _, _ = Load(file) })
}

// TestDecodeWithoutNumbers writes queries over a table that has neither numbers nor
// dates, and of a question without values: what the grammar wants may not be there.
func TestDecodeWithoutNumbers(t *testing.T) {
	t.Parallel()
	n, err := Load(smallWeights())
	if err != nil {
		t.Fatal(err)
	}
	cat := catalog.New([]*catalog.Profile{{Name: "notes", Columns: []catalog.ColumnProfile{{Name: "text", Type: "VARCHAR"}}}}, nil)
	tokens := link.Tokenize("what is there")
	in := link.New(tokens, cat, nil, nil, nil)
	for _, c := range n.Decode(n.Encode(in), cat) {
		if !ir.Valid(c.Tokens) {
			t.Errorf("not a query: %s", ir.Text(c.Tokens))
		}
	}
}

// TestEmbedder compares texts with the weights of the program.
func TestEmbedder(t *testing.T) {
	t.Parallel()
	file := func(name string) []byte {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	n, err := Load(file("weights.bin"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadEmbedder(file("embedder.bin"), n)
	if err != nil {
		t.Fatal(err)
	}
	near := func(a, b string) (product float32) {
		vectors := m.Embed([]string{a, b, a})
		for i, x := range vectors[0] {
			product += x * vectors[1][i]
		}
		if !slices.Equal(vectors[0], vectors[2]) {
			t.Errorf("%q has two vectors", a)
		}
		return product
	}
	if same, other := near("How do I get my money back?", "Refunds are paid within a week."), near("How do I get my money back?", "The tent is made of cotton."); same < 0.4 || other > 0.2 {
		t.Errorf("a refund: %f, and a tent: %f", same, other)
	}
	near("", strings.Repeat("long ", 1000))
	if _, err := LoadEmbedder(file("embedder.bin")[:1000], n); err == nil {
		t.Error("half a file is read")
	}
}
