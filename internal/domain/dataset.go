package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// MaxDisplayName is the most characters of what people call the rows of a dataset.
const MaxDisplayName = 100

// MaxDescription is the most characters a dataset's description may have.
const MaxDescription = 10_000

// Limits of the field descriptions.
const (
	maxFields           = 2_000
	maxFieldName        = 256
	maxFieldDescription = 10_000
)

// DatasetRef addresses a dataset. Names are compared without regard to case.
type DatasetRef struct {
	Owner     string
	Namespace string
	Name      string
}

// Dataset is a table of rows in a namespace.
type Dataset struct {
	Owner      string
	Namespace  string
	Name       string
	Definition Definition
	Columns    []Column
	RowCount   int64
	// Access is what the reader may do to it; zero in lists without columns.
	Access Access
}

// Column is a column of a dataset's current version.
type Column struct {
	Name string
	Type string
}

// TypeUnknown is the type of a column that has had no value yet.
const TypeUnknown = "NULL"

// Definition is the inference definition of a dataset: what it is called, its description and those of
// its fields.
type Definition struct {
	// DisplayName is what people call the rows, such as employees; nil for the words of the name.
	DisplayName *string
	// Description says what the dataset is about; nil if there is none.
	Description *string
	// Schema has the descriptions of fields, by name; nil if there are none.
	Schema map[string]string
}

// DefinitionPatch changes the parts of a definition that are Set.
type DefinitionPatch struct {
	Definition
	SetDisplayName bool
	SetDescription bool
	SetSchema      bool
}

// IsEmpty reports whether a patch changes nothing.
func (p DefinitionPatch) IsEmpty() bool {
	return !p.SetDisplayName && !p.SetDescription && !p.SetSchema
}

// Check returns what is wrong with a definition.
func (d Definition) Check() []FieldError {
	var wrong []FieldError
	if d.DisplayName != nil {
		problem := CheckText(*d.DisplayName, MaxDisplayName)
		if problem == "" && (strings.TrimSpace(*d.DisplayName) == "" || strings.ContainsFunc(*d.DisplayName, func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, invisible...) || r == '`' })) {
			problem = "must be visible words on one line"
		}
		if problem != "" {
			wrong = append(wrong, FieldError{"displayName", problem})
		}
	}
	if d.Description != nil {
		if problem := CheckText(*d.Description, MaxDescription); problem != "" {
			wrong = append(wrong, FieldError{"dataDescription", problem})
		}
	}
	if len(d.Schema) > maxFields {
		return append(wrong, FieldError{"schemaDefinition", fmt.Sprintf("must have at most %d fields", maxFields)})
	}
	for _, name := range slices.Sorted(maps.Keys(d.Schema)) {
		problem := CheckText(name, maxFieldName)
		if name == "" {
			problem = "must not be empty"
		}
		if problem != "" {
			wrong = append(wrong, FieldError{"schemaDefinition", fmt.Sprintf("field name %.40q %s", name, problem)})
			continue
		}
		if problem := CheckText(d.Schema[name], maxFieldDescription); problem != "" {
			wrong = append(wrong, FieldError{"schemaDefinition." + name, problem})
		}
	}
	return wrong
}
