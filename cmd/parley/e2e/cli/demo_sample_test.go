package cli

import (
	"encoding/json"
	"sync"

	"parley/cmd/parley/internal/demo/sample"
)

type sampleCustomer struct {
	ID                           int `json:"customer_id"`
	Name, City, Country, Segment string
	SignedUpOn                   string `json:"signed_up_on"`
}

type sampleProduct struct {
	ID                    int `json:"product_id"`
	Name, Category, Brand string
	Price                 float64
	Stock                 int
}

type sampleOrder struct {
	ID              int    `json:"order_id"`
	CustomerID      int    `json:"customer_id"`
	ProductID       int    `json:"product_id"`
	OrderedAt       string `json:"ordered_at"`
	Quantity        int
	Amount          float64
	Channel, Status string
}

type sampleHarvest struct {
	Crop   string
	Weight float64 `json:"weight_kg"`
}

// The rows of the demo's sample.
var (
	sampleCustomers = sync.OnceValue(sampleRows[sampleCustomer]("customers"))
	sampleProducts  = sync.OnceValue(sampleRows[sampleProduct]("products"))
	sampleOrders    = sync.OnceValue(sampleRows[sampleOrder]("orders"))
	sampleHarvests  = sync.OnceValue(sampleRows[sampleHarvest]("harvests"))
)

func sampleRows[T any](name string) func() []T {
	return func() (all []T) {
		for _, space := range sample.Spaces() {
			for _, dataset := range space.Datasets {
				if dataset.Name != name {
					continue
				}
				for _, text := range dataset.Rows {
					var row T
					if err := json.Unmarshal(text, &row); err != nil {
						panic(err)
					}
					all = append(all, row)
				}
			}
		}
		return all
	}
}
