package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"

	"parley/internal/sqltext"
)

// Results are read from DuckDB's vectors here, since duckdb-go's rows would change them:
// it has no streamed results, so rows beyond the bounds would be computed; it decodes
// JSON and structs into maps, which lose the order of keys and the digits of large
// numbers; it has no infinite dates, no time 24:00, no TIME_NS, no structs without names
// and no maps whose keys are lists.

// appender appends row's value of a vector as JSON.
type appender func(buf []byte, row uint64) []byte

// column writes values of a type. It binds to the vector of each chunk.
type column struct {
	name string
	bind func(duck.Vector) appender
}

// cell returns a pointer to a row's value in a vector.
func cell[T any](data unsafe.Pointer, row uint64) *T {
	var t T
	return (*T)(unsafe.Add(data, uintptr(row)*unsafe.Sizeof(t)))
}

// bytesAt returns the bytes of a string, blob or bit string, in the vector's memory.
func bytesAt(data unsafe.Pointer, row uint64) []byte {
	// A length of four bytes, then up to twelve bytes inline; longer strings have a pointer
	// in the last eight bytes.
	at := unsafe.Add(data, uintptr(row)*16)
	n := *(*uint32)(at)
	if n <= 12 {
		return unsafe.Slice((*byte)(unsafe.Add(at, 4)), n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(at, 8)), n)
}

func textAt(data unsafe.Pointer, row uint64) string {
	b := bytesAt(data, row)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// nullable makes NULL null.
func nullable(v duck.Vector, f appender) appender {
	mask := duck.VectorGetValidity(v)
	if mask == nil {
		return f
	}
	return func(buf []byte, row uint64) []byte {
		if !valid(mask, row) {
			return append(buf, "null"...)
		}
		return f(buf, row)
	}
}

// simple makes a column of a type that is T in memory.
func simple[T any](name string, f func([]byte, T) []byte) column {
	return column{name, func(v duck.Vector) appender {
		data := duck.VectorGetData(v)
		return nullable(v, func(buf []byte, row uint64) []byte { return f(buf, *cell[T](data, row)) })
	}}
}

// bytesColumn makes a column of a type that is a string in memory.
func bytesColumn(name string, f func([]byte, []byte) []byte) column {
	return column{name, func(v duck.Vector) appender {
		data := duck.VectorGetData(v)
		return nullable(v, func(buf []byte, row uint64) []byte { return f(buf, bytesAt(data, row)) })
	}}
}

func textColumn(name string, f func([]byte, string) []byte) column {
	return bytesColumn(name, func(buf, b []byte) []byte { return f(buf, unsafe.String(unsafe.SliceData(b), len(b))) })
}

func signed[T int8 | int16 | int32 | int64](buf []byte, v T) []byte { return appendInt(buf, int64(v)) }

func unsigned[T uint8 | uint16 | uint32 | uint64](buf []byte, v T) []byte {
	return appendUint(buf, uint64(v))
}

type interval struct {
	months, days int32
	micros       int64
}

type listEntry struct{ offset, length uint64 }

// plainColumns are the types without parameters.
var plainColumns = map[duck.Type]column{
	duck.TypeBoolean:  simple("BOOLEAN", strconv.AppendBool),
	duck.TypeTinyInt:  simple("TINYINT", signed[int8]),
	duck.TypeSmallInt: simple("SMALLINT", signed[int16]),
	duck.TypeInteger:  simple("INTEGER", signed[int32]),
	duck.TypeBigInt:   simple("BIGINT", signed[int64]),

	duck.TypeUTinyInt:  simple("UTINYINT", unsigned[uint8]),
	duck.TypeUSmallInt: simple("USMALLINT", unsigned[uint16]),
	duck.TypeUInteger:  simple("UINTEGER", unsigned[uint32]),
	duck.TypeUBigInt:   simple("UBIGINT", unsigned[uint64]),

	duck.TypeHugeInt:  simple("HUGEINT", func(b []byte, v hugeint) []byte { return appendBig(b, v.big()) }),
	duck.TypeUHugeInt: simple("UHUGEINT", func(b []byte, v hugeint) []byte { return appendBig(b, v.unsignedBig()) }),
	duck.TypeBigNum:   bytesColumn("BIGNUM", func(b, v []byte) []byte { return appendBig(b, bignum(v)) }),

	duck.TypeFloat:  simple("FLOAT", func(b []byte, v float32) []byte { return appendFloat(b, float64(v), 32) }),
	duck.TypeDouble: simple("DOUBLE", func(b []byte, v float64) []byte { return appendFloat(b, v, 64) }),

	duck.TypeDate:   simple("DATE", appendDate),
	duck.TypeTime:   simple("TIME", func(b []byte, v int64) []byte { return appendTime(b, v, 1e6, 6) }),
	duck.TypeTimeNS: simple("TIME_NS", func(b []byte, v int64) []byte { return appendTime(b, v, 1e9, 9) }),
	duck.TypeTimeTZ: simple("TIME WITH TIME ZONE", appendTimeTZ),

	duck.TypeTimestamp:   simple("TIMESTAMP", func(b []byte, v int64) []byte { return appendTimestamp(b, v, 1e6, 6, "") }),
	duck.TypeTimestampS:  simple("TIMESTAMP_S", func(b []byte, v int64) []byte { return appendTimestamp(b, v, 1, 0, "") }),
	duck.TypeTimestampMS: simple("TIMESTAMP_MS", func(b []byte, v int64) []byte { return appendTimestamp(b, v, 1e3, 3, "") }),
	duck.TypeTimestampNS: simple("TIMESTAMP_NS", func(b []byte, v int64) []byte { return appendTimestamp(b, v, 1e9, 9, "") }),
	duck.TypeTimestampTZ: simple("TIMESTAMP WITH TIME ZONE", func(b []byte, v int64) []byte { return appendTimestamp(b, v, 1e6, 6, "Z") }),
	duck.TypeInterval: simple("INTERVAL", func(b []byte, v interval) []byte {
		return appendInterval(b, v.months, v.days, v.micros)
	}),

	duck.TypeVarchar:  textColumn("VARCHAR", appendText),
	duck.TypeBlob:     bytesColumn("BLOB", appendBinary),
	duck.TypeGeometry: bytesColumn("GEOMETRY", appendBinary),
	duck.TypeBit:      bytesColumn("BIT", appendBits),
	duck.TypeUUID:     simple("UUID", appendUUID),
	duck.TypeSQLNull:  {"NULL", func(duck.Vector) appender { return func(b []byte, _ uint64) []byte { return append(b, "null"...) } }},
}

func newColumn(t duck.LogicalType) (column, error) {
	id := duck.GetTypeId(t)
	if id == duck.TypeVarchar && strings.EqualFold(duck.LogicalTypeGetAlias(t), "json") {
		return textColumn("JSON", appendDocument), nil
	}
	if c, ok := plainColumns[id]; ok {
		return c, nil
	}
	switch id {
	case duck.TypeDecimal:
		return decimalColumn(t)
	case duck.TypeEnum:
		return enumColumn(t)
	case duck.TypeList:
		return listColumn(t)
	case duck.TypeArray:
		return arrayColumn(t)
	case duck.TypeMap:
		return mapColumn(t)
	case duck.TypeStruct:
		return structColumn(t)
	case duck.TypeUnion:
		return unionColumn(t)
	}
	return column{}, errors.New("values of this type cannot be shown")
}

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

// child makes the column of a type inside another, and frees the type.
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
