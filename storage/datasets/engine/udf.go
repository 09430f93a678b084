package engine

/*
void parleyMatch(void *, void *, void *);
void parleyTerms(void *, void *, void *);
*/
import "C"

import (
	"fmt"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"

	"parley/storage/datasets/match"
)

// registerFunctions adds match(text, words), which scores how well a text matches words,
// and match_terms(text, words), which counts the words of the text and each of those.
func registerFunctions(conn duck.Connection) error {
	for name, f := range map[string]struct {
		call    unsafe.Pointer
		returns func() duck.LogicalType
	}{
		"match":             {C.parleyMatch, func() duck.LogicalType { return duck.CreateLogicalType(duck.TypeDouble) }},
		match.TermsFunction: {C.parleyTerms, termsType},
	} {
		if err := registerFunction(conn, name, f.call, f.returns()); err != nil {
			return err
		}
	}
	return nil
}

func termsType() duck.LogicalType {
	item := duck.CreateLogicalType(duck.TypeDouble)
	defer duck.DestroyLogicalType(&item)
	return duck.CreateListType(item)
}

func registerFunction(conn duck.Connection, name string, call unsafe.Pointer, returns duck.LogicalType) error {
	defer duck.DestroyLogicalType(&returns)
	f := duck.CreateScalarFunction()
	defer duck.DestroyScalarFunction(&f)
	text := duck.CreateLogicalType(duck.TypeVarchar)
	defer duck.DestroyLogicalType(&text)
	duck.ScalarFunctionSetName(f, name)
	duck.ScalarFunctionAddParameter(f, text)
	duck.ScalarFunctionAddParameter(f, text)
	duck.ScalarFunctionSetReturnType(f, returns)
	duck.ScalarFunctionSetFunction(f, call)
	if duck.RegisterScalarFunction(conn, f) == duck.StateError {
		return fmt.Errorf("register function %s", name)
	}
	return nil
}

// eachPair calls f with each row's two texts. NULL in either gives NULL.
func eachPair(input unsafe.Pointer, output duck.Vector, f func(row uint64, text, words string)) {
	chunk := duck.DataChunk{Ptr: input}
	a, b := duck.DataChunkGetVector(chunk, 0), duck.DataChunkGetVector(chunk, 1)
	aData, bData := duck.VectorGetData(a), duck.VectorGetData(b)
	aMask, bMask := duck.VectorGetValidity(a), duck.VectorGetValidity(b)
	for row := range uint64(duck.DataChunkGetSize(chunk)) {
		if valid(aMask, row) && valid(bMask, row) {
			f(row, textAt(aData, row), textAt(bData, row))
			continue
		}
		duck.VectorEnsureValidityWritable(output)
		duck.ValiditySetRowInvalid(duck.VectorGetValidity(output), duck.IdxT(row))
	}
}

func valid(mask unsafe.Pointer, row uint64) bool {
	return mask == nil || *cell[uint64](mask, row/64)>>(row%64)&1 == 1
}

//export parleyMatch
func parleyMatch(_, input, output unsafe.Pointer) {
	scores := duck.Vector{Ptr: output}
	data := duck.VectorGetData(scores)
	var last match.Matcher
	eachPair(input, scores, func(row uint64, text, words string) {
		last.SetWords(words)
		*cell[float64](data, row) = last.Score(text)
	})
}

//export parleyTerms
func parleyTerms(_, input, output unsafe.Pointer) {
	list := duck.Vector{Ptr: output}
	data := duck.VectorGetData(list)
	var last match.Matcher
	var all []float64
	eachPair(input, list, func(row uint64, text, words string) {
		last.SetWords(words)
		counts := last.Count(text)
		*cell[listEntry](data, row) = listEntry{uint64(len(all)), uint64(len(counts))}
		all = append(all, counts...)
	})
	duck.ListVectorReserve(list, duck.IdxT(len(all)))
	duck.ListVectorSetSize(list, duck.IdxT(len(all)))
	if len(all) > 0 {
		copy(unsafe.Slice((*float64)(duck.VectorGetData(duck.ListVectorGetChild(list))), len(all)), all)
	}
}
