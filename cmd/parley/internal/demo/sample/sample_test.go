package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestSame has the sample be the same on every machine and at any time. A change
// of the sample changes the sum.
func TestSame(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(Spaces())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	const want = "151747c2524d347f"
	if got := hex.EncodeToString(sum[:8]); got != want {
		t.Errorf("the sample is %s, want %s", got, want)
	}
}

func TestDescribed(t *testing.T) {
	t.Parallel()
	for _, space := range Spaces() {
		for _, dataset := range space.Datasets {
			if dataset.Description == "" || (dataset.Rows == nil) != (dataset.Fields == nil) || (dataset.Rows == nil) == (dataset.Files == nil) {
				t.Errorf("%s is not described as it should be", dataset.Name)
			}
			for _, row := range dataset.Rows {
				var fields map[string]any
				text, err := json.Marshal(row)
				if err != nil || json.Unmarshal(text, &fields) != nil || len(fields) != len(dataset.Fields) {
					t.Fatalf("%s has a row %s, %v", dataset.Name, text, err)
				}
				for name := range fields {
					if dataset.Fields[name] == "" {
						t.Fatalf("%s does not say what %s is", dataset.Name, name)
					}
				}
			}
		}
	}
}

// TestShop has what the rows say of each other be true.
func TestShop(t *testing.T) {
	t.Parallel()
	customers, products, names := map[int]Customer{}, map[int]Product{}, map[string]bool{}
	for _, c := range Customers() {
		customers[c.ID] = c
		names[c.Name] = true
	}
	for _, p := range Products() {
		products[p.ID] = p
		if p.Price*4 != float64(int(p.Price*4)) {
			t.Errorf("the price of %s is not in quarters: %v", p.Name, p.Price)
		}
		if _, ok := seasons[p.Category]; !ok {
			t.Errorf("%s is in no category: %s", p.Name, p.Category)
		}
	}
	if len(names) != len(customers) {
		t.Errorf("%d names for %d customers", len(names), len(customers))
	}
	before := ""
	for i, o := range Orders() {
		buyer, product := customers[o.CustomerID], products[o.ProductID]
		at, err := time.Parse("2006-01-02T15:04:05", o.OrderedAt)
		switch {
		case err != nil || at.Before(firstDay) || at.After(lastDay.AddDate(0, 0, 1)) || o.OrderedAt < before:
			t.Errorf("the order %+v is out of time: %v", o, err)
		case o.ID != i+1 || buyer.ID == 0 || product.ID == 0 || o.Quantity < 1 || o.Amount != float64(o.Quantity)*product.Price:
			t.Errorf("the order %+v of %+v and %+v is wrong", o, buyer, product)
		case o.OrderedAt < buyer.SignedUpOn:
			t.Errorf("the order %+v is before %+v signed up", o, buyer)
		}
		before = o.OrderedAt
	}
}

// TestInteresting has the orders say something: a season, growth, big customers,
// lamps that come back.
func TestInteresting(t *testing.T) {
	t.Parallel()
	years, months, big, all := map[string]int{}, map[string]int{}, 0.0, 0.0
	orders := Orders()
	for _, o := range orders {
		years[o.OrderedAt[:4]]++
		months[o.OrderedAt[5:7]]++
		all += o.Amount
		if o.CustomerID <= len(businesses) {
			big += o.Amount
		}
	}
	if len(orders) < 3000 || len(orders) > 8000 || years["2025"] <= years["2024"] || months["12"] < 3*months["01"]/2 {
		t.Errorf("%d orders, %v, %v", len(orders), years, months)
	}
	if share := big / all; share < 0.15 || share > 0.4 {
		t.Errorf("businesses buy %.0f %%", 100*share)
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, file := range Documents() {
		if !utf8.Valid(file.Text) || !strings.HasPrefix(string(file.Text), "# ") || len(file.Text) > 1000 || !strings.HasSuffix(file.Name, ".md") {
			t.Errorf("%s is no short text", file.Name)
		}
	}
}
