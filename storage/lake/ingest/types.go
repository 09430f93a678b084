package ingest

// Names of types, as columns carry them.
const (
	typeBoolean     = "BOOLEAN"
	typeBigint      = "BIGINT"
	typeWhole       = "DECIMAL(38,0)"
	typeDouble      = "DOUBLE"
	typeVarchar     = "VARCHAR"
	typeDate        = "DATE"
	typeTime        = "TIME"
	typeTimestamp   = "TIMESTAMP"
	typeInstant     = "TIMESTAMP WITH TIME ZONE"
	typeJSON        = "JSON"
	typeTimestampNS = "TIMESTAMP_NS"
	typeBlob        = "BLOB"
	// typeNull is a column without a value so far: the first values decide.
	typeNull = "NULL"
	// typeEmptyList is a column of nothing but empty JSON lists. It is internal:
	// it unites with any list, and alone becomes JSON.
	typeEmptyList = "[]"
)

// family is a set of kinds that one type holds.
type family struct {
	typ   string
	kinds kindSet
	// need is kinds without one of which the others are not this type.
	need kindSet
}

// families are in order: the first that holds all values is the type.
var families = []family{
	{typ: typeBoolean, kinds: setOf(kindBool)},
	{typ: typeBigint, kinds: setOf(kindInt)},
	{typ: typeWhole, kinds: setOf(kindInt, kindBig)},
	{typ: typeDouble, kinds: setOf(kindInt, kindFloat, kindPoint3, kindSpecial), need: setOf(kindInt, kindFloat, kindPoint3)},
	{typ: typeDate, kinds: setOf(kindDate)},
	{typ: typeTimestamp, kinds: setOf(kindDate, kindTimestamp)},
	{typ: typeInstant, kinds: setOf(kindInstant)},
	{typ: typeTime, kinds: setOf(kindTime)},
}

var nestedKinds = setOf(kindList, kindNested)

// columnKinds are the kinds of a column's values, and of the values inside its
// lists.
type columnKinds struct{ values, elements kindSet }

// typ gives the column's type. A single value that fits no other type makes it
// text, wherever it stands: the type depends on which values there are and on
// nothing else.
func (c columnKinds) typ() string {
	switch {
	case c.values == 0:
		return typeNull
	case c.values == kindList.set() && c.elements == 0:
		return typeEmptyList
	case c.values == kindList.set():
		if of := familyOf(c.elements); of != nil && !of.temporal() {
			return of.typ + "[]"
		}
		return typeVarchar + "[]"
	case c.values.within(nestedKinds):
		return typeJSON
	}
	if of := familyOf(c.values); of != nil {
		return of.typ
	}
	return typeVarchar
}

// familyOf gives the family that holds all values of these kinds, nil when they
// are text; without values, it is any.
func familyOf(seen kindSet) *family {
	for i := range families {
		f := &families[i]
		if seen.within(f.kinds) && (f.need == 0 || seen.meets(f.need)) {
			return f
		}
	}
	return nil
}

func (f *family) temporal() bool {
	return f.typ == typeDate || f.typ == typeTime || f.typ == typeTimestamp || f.typ == typeInstant
}
