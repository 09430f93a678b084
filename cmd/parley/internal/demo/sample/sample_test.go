package sample

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
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
				if err := json.Unmarshal(row, &fields); err != nil || len(fields) != len(dataset.Fields) {
					t.Fatalf("%s has a row %s, %v", dataset.Name, row, err)
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

type customer struct {
	ID         int    `json:"customer_id"`
	SignedUpOn string `json:"signed_up_on"`
	Name       string
}

type product struct {
	ID       int `json:"product_id"`
	Name     string
	Category string
	Price    float64
}

type order struct {
	ID         int    `json:"order_id"`
	CustomerID int    `json:"customer_id"`
	ProductID  int    `json:"product_id"`
	OrderedAt  string `json:"ordered_at"`
	Quantity   int
	Amount     float64
}

// rows reads the rows of a dataset of the shop.
func rows[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	for _, dataset := range Spaces()[0].Datasets {
		for _, text := range dataset.Rows {
			var row T
			if dataset.Name != name {
				break
			}
			if err := json.Unmarshal(text, &row); err != nil {
				t.Fatal(err)
			}
			all = append(all, row)
		}
	}
	return all
}

// TestShop has what the rows say of each other be true.
func TestShop(t *testing.T) {
	t.Parallel()
	customers, products, names := map[int]customer{}, map[int]product{}, map[string]bool{}
	for _, c := range rows[customer](t, "customers") {
		customers[c.ID] = c
		names[c.Name] = true
	}
	for _, p := range rows[product](t, "products") {
		products[p.ID] = p
		if p.Price*4 != float64(int(p.Price*4)) {
			t.Errorf("the price of %s is not in quarters: %v", p.Name, p.Price)
		}
		if !slices.Contains([]string{"Kitchen", "Outdoor", "Garden", "Lighting", "Toys"}, p.Category) {
			t.Errorf("%s is in no category: %s", p.Name, p.Category)
		}
	}
	if len(names) != len(customers) {
		t.Errorf("%d names for %d customers", len(names), len(customers))
	}
	before := ""
	for i, o := range rows[order](t, "orders") {
		buyer, product := customers[o.CustomerID], products[o.ProductID]
		at, err := time.Parse("2006-01-02T15:04:05", o.OrderedAt)
		switch {
		case err != nil || at.Year() < 2024 || at.Year() > 2025 || o.OrderedAt < before:
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
	const businesses = 8 // the first customers
	orders := rows[order](t, "orders")
	for _, o := range orders {
		years[o.OrderedAt[:4]]++
		months[o.OrderedAt[5:7]]++
		all += o.Amount
		if o.CustomerID <= businesses {
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
	for _, file := range files("documents") {
		if !utf8.Valid(file.Text) || !strings.HasPrefix(string(file.Text), "# ") || len(file.Text) > 1000 || !strings.HasSuffix(file.Name, ".md") {
			t.Errorf("%s is no short text", file.Name)
		}
	}
}
