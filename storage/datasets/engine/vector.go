package engine

import (
	"errors"
	"strconv"
	"strings"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"
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
