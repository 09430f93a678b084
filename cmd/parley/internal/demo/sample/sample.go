// Package sample has the data of `parley demo`: a shop over two years, the texts that
// the shop gives its customers, and a vegetable garden. All of it is fictional. Namespaces
// and datasets are in sample.json, the rows of a dataset in data/NAME.ndjson, and the files
// of one that has texts in NAME/.
package sample

import (
	"bytes"
	"embed"
	"encoding/json"
	"path"
)

// The users of the sample.
const (
	Alice = "alice" // has the shop
	Bob   = "bob"   // has the garden, and may read the shop
)

// Space is a namespace of the sample.
type Space struct {
	Owner, Name string
	Datasets    []Dataset
	// Viewers are the users with whom it is shared.
	Viewers []string
}

// Dataset has rows, or files that become passages.
type Dataset struct {
	Name, Description string
	// Fields describe the columns. Texts have none: with them a language model would be
	// asked for rows.
	Fields map[string]string
	Rows   []json.RawMessage
	Files  []File
}

// File is a text in Markdown.
type File struct {
	Name string
	Text []byte
}

//go:embed sample.json data documents
var content embed.FS

// Spaces returns the whole sample.
func Spaces() []Space {
	var spaces []Space
	if err := json.Unmarshal(read("sample.json"), &spaces); err != nil {
		panic(err)
	}
	for _, space := range spaces {
		for i := range space.Datasets {
			dataset := &space.Datasets[i]
			if dataset.Fields == nil {
				dataset.Files = files(dataset.Name)
				continue
			}
			for line := range bytes.Lines(read("data/" + dataset.Name + ".ndjson")) {
				dataset.Rows = append(dataset.Rows, bytes.TrimSpace(line))
			}
		}
	}
	return spaces
}

func files(dir string) (found []File) {
	entries, err := content.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, entry := range entries {
		found = append(found, File{Name: entry.Name(), Text: read(path.Join(dir, entry.Name()))})
	}
	return found
}

// read returns a file that is part of the program.
func read(name string) []byte {
	text, err := content.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return text
}
