package engine

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"

	duck "github.com/duckdb/duckdb-go-bindings"

	"parley/internal/sqltext"
)

// Columns of types that hold others, or need more than their id.

func decimalColumn(t duck.LogicalType) (column, error) {
	scale := int(duck.DecimalScale(t))
	name := fmt.Sprintf("DECIMAL(%d,%d)", duck.DecimalWidth(t), scale)
	switch duck.DecimalInternalType(t) {
	case duck.TypeSmallInt:
		return smallDecimal[int16](name, scale), nil
	case duck.TypeInteger:
		return smallDecimal[int32](name, scale), nil
	case duck.TypeBigInt:
		return smallDecimal[int64](name, scale), nil
	}
	return simple(name, func(b []byte, v hugeint) []byte { return appendDecimal(b, v.big(), scale) }), nil
}

func smallDecimal[T int16 | int32 | int64](name string, scale int) column {
	return simple(name, func(b []byte, v T) []byte { return appendDecimal(b, big.NewInt(int64(v)), scale) })
}

func enumColumn(t duck.LogicalType) (column, error) {
	words := make([]string, duck.EnumDictionarySize(t))
	for i := range words {
		words[i] = duck.EnumDictionaryValue(t, duck.IdxT(i))
	}
	switch duck.EnumInternalType(t) {
	case duck.TypeUTinyInt:
		return enumOf[uint8](words), nil
	case duck.TypeUSmallInt:
		return enumOf[uint16](words), nil
	}
	return enumOf[uint32](words), nil
}

func enumOf[T uint8 | uint16 | uint32](words []string) column {
	return simple("ENUM", func(b []byte, v T) []byte { return appendText(b, words[v]) })
}

// child makes the column of a type inside another and gives the type back.
func child(t duck.LogicalType) (column, error) {
	defer duck.DestroyLogicalType(&t)
	return newColumn(t)
}

func appendList(buf []byte, value appender, from, count uint64) []byte {
	buf = append(buf, '[')
	for i := range count {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = value(buf, from+i)
	}
	return append(buf, ']')
}

func listColumn(t duck.LogicalType) (column, error) {
	item, err := child(duck.ListTypeChildType(t))
	if err != nil {
		return column{}, err
	}
	return column{item.name + "[]", func(v duck.Vector) appender {
		data, value := duck.VectorGetData(v), item.bind(duck.ListVectorGetChild(v))
		return nullable(v, func(buf []byte, row uint64) []byte {
			entry := cell[listEntry](data, row)
			return appendList(buf, value, entry.offset, entry.length)
		})
	}}, nil
}

func arrayColumn(t duck.LogicalType) (column, error) {
	item, err := child(duck.ArrayTypeChildType(t))
	if err != nil {
		return column{}, err
	}
	size := uint64(duck.ArrayTypeArraySize(t))
	return column{fmt.Sprintf("%s[%d]", item.name, size), func(v duck.Vector) appender {
		value := item.bind(duck.ArrayVectorGetChild(v))
		return nullable(v, func(buf []byte, row uint64) []byte { return appendList(buf, value, row*size, size) })
	}}, nil
}

// mapColumn writes a map as an object. Keys that are no text become the text of
// their JSON.
func mapColumn(t duck.LogicalType) (column, error) {
	key, err := child(duck.MapTypeKeyType(t))
	if err != nil {
		return column{}, err
	}
	item, err := child(duck.MapTypeValueType(t))
	if err != nil {
		return column{}, err
	}
	return column{"MAP(" + key.name + ", " + item.name + ")", func(v duck.Vector) appender {
		data, entries := duck.VectorGetData(v), duck.ListVectorGetChild(v)
		name, value := key.bind(duck.StructVectorGetChild(entries, 0)), item.bind(duck.StructVectorGetChild(entries, 1))
		return nullable(v, func(buf []byte, row uint64) []byte {
			entry := cell[listEntry](data, row)
			buf = append(buf, '{')
			for i := range entry.length {
				if i > 0 {
					buf = append(buf, ',')
				}
				at := len(buf)
				if buf = name(buf, entry.offset+i); buf[at] != '"' {
					buf = appendText(buf[:at], string(bytes.Clone(buf[at:])))
				}
				buf = value(append(buf, ':'), entry.offset+i)
			}
			return append(buf, '}')
		})
	}}, nil
}

// structColumn writes a struct as an object, one without names as an array.
func structColumn(t duck.LogicalType) (column, error) {
	var names, types []string
	var items []column
	named := true
	for i := range duck.StructTypeChildCount(t) {
		item, err := child(duck.StructTypeChildType(t, i))
		if err != nil {
			return column{}, err
		}
		name := duck.StructTypeChildName(t, i)
		named = named && name != ""
		names, items = append(names, string(appendText(nil, name))), append(items, item)
		if name != "" {
			name = sqltext.Name(name) + " "
		}
		types = append(types, name+item.name)
	}
	return column{"STRUCT(" + strings.Join(types, ", ") + ")", func(v duck.Vector) appender {
		values := make([]appender, len(items))
		for i, item := range items {
			values[i] = item.bind(duck.StructVectorGetChild(v, duck.IdxT(i)))
		}
		return nullable(v, func(buf []byte, row uint64) []byte {
			if named {
				buf = append(buf, '{')
			} else {
				buf = append(buf, '[')
			}
			for i, value := range values {
				if i > 0 {
					buf = append(buf, ',')
				}
				if named {
					buf = append(append(buf, names[i]...), ':')
				}
				buf = value(buf, row)
			}
			if named {
				return append(buf, '}')
			}
			return append(buf, ']')
		})
	}}, nil
}

// unionColumn writes the member that a value is of, without saying which.
func unionColumn(t duck.LogicalType) (column, error) {
	var types []string
	var items []column
	for i := range duck.UnionTypeMemberCount(t) {
		item, err := child(duck.UnionTypeMemberType(t, i))
		if err != nil {
			return column{}, err
		}
		items = append(items, item)
		types = append(types, duck.UnionTypeMemberName(t, i)+" "+item.name)
	}
	return column{"UNION(" + strings.Join(types, ", ") + ")", func(v duck.Vector) appender {
		tags := duck.VectorGetData(duck.StructVectorGetChild(v, 0))
		values := make([]appender, len(items))
		for i, item := range items {
			values[i] = item.bind(duck.StructVectorGetChild(v, duck.IdxT(i+1)))
		}
		return nullable(v, func(buf []byte, row uint64) []byte { return values[*cell[uint8](tags, row)](buf, row) })
	}}, nil
}
