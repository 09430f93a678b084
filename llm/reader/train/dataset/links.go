package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"parley/llm/reader/catalog"
)

// Catalog reads the catalog of a folder of training data. Links that it declares in
// links.json, as [table, column, table, column], go before inferred ones.
func Catalog(dir string) (*catalog.Catalog, []*catalog.Profile, error) {
	profiles, err := Profiles(filepath.Join(dir, "tables"))
	if err != nil {
		return nil, nil, err
	}
	if len(profiles) == 0 {
		return nil, nil, fmt.Errorf("%s has no tables", dir)
	}
	cat := catalog.New(profiles, nil)
	text, err := os.ReadFile(filepath.Join(dir, "links.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return cat, profiles, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var names [][4]string
	if err := json.Unmarshal(text, &names); err != nil {
		return nil, nil, err
	}
	var links []catalog.Link
	for _, n := range names {
		from, to := find(cat, n[0], n[1]), find(cat, n[2], n[3])
		if from >= 0 && to >= 0 {
			links = append(links, catalog.Link{From: from, To: to, Many: !cat.Columns[to].Unique})
		}
	}
	return catalog.New(profiles, links), profiles, nil
}

func find(cat *catalog.Catalog, table, column string) int {
	for i := range cat.Columns {
		if c := &cat.Columns[i]; strings.EqualFold(c.Name, column) && strings.EqualFold(cat.Tables[c.Table].Name, table) {
			return i
		}
	}
	return -1
}
