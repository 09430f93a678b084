package sample

import (
	"embed"
	"path"
)

//go:embed documents/*.md
var texts embed.FS

func documentsDataset() Dataset {
	return Dataset{
		Name:        "documents",
		Description: "What the shop tells its customers: returns, shipping, payment, warranty, gift cards, and how to care for products.",
		Files:       Documents(),
	}
}

// Documents gives the shop's texts, by name.
func Documents() []File {
	entries, err := texts.ReadDir("documents")
	if err != nil {
		panic(err) // they are part of the program
	}
	var files []File
	for _, entry := range entries {
		text, err := texts.ReadFile(path.Join("documents", entry.Name()))
		if err != nil {
			panic(err)
		}
		files = append(files, File{Name: entry.Name(), Text: text})
	}
	return files
}
