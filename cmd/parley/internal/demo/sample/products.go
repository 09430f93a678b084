package sample

// Product is a row of products.
type Product struct {
	ID       int     `json:"product_id"`
	Name     string  `json:"name"`
	Category string  `json:"category"`
	Brand    string  `json:"brand"`
	Price    float64 `json:"price"`
	Stock    int     `json:"stock"`

	weight int // how well it sells
}

func productsDataset() Dataset {
	return Dataset{
		Name:        "products",
		Description: "What the shop sells, one row for each product.",
		Fields: map[string]string{
			"product_id": "number of the product",
			"name":       "name of the product",
			"category":   "category of the product, such as kitchen or outdoor",
			"brand":      "brand that makes it",
			"price":      "price of one piece in euros",
			"stock":      "pieces in stock",
		},
		Rows: rowsOf(Products()),
	}
}

// Products gives what the shop sells. Prices are in quarters of a euro, which
// add up exactly however they are added.
func Products() []Product {
	d := dice(7)
	var all []Product
	for _, p := range catalogue {
		p.ID, p.Stock = 101+len(all), d.below(180)
		if d.below(9) == 0 {
			p.Stock = 0
		}
		all = append(all, p)
	}
	return all
}

var catalogue = []Product{
	{Name: "Cast Iron Skillet", Category: "Kitchen", Brand: "Ofenruh", Price: 48.50, weight: 9},
	{Name: "Chef's Knife", Category: "Kitchen", Brand: "Ofenruh", Price: 64, weight: 7},
	{Name: "Oak Cutting Board", Category: "Kitchen", Brand: "Holt & Ham", Price: 36.75, weight: 8},
	{Name: "Pour-over Coffee Set", Category: "Kitchen", Brand: "Slow Kettle", Price: 39.50, weight: 10},
	{Name: "Stoneware Mug", Category: "Kitchen", Brand: "Slow Kettle", Price: 14.25, weight: 16},
	{Name: "Enamel Teapot", Category: "Kitchen", Brand: "Slow Kettle", Price: 32, weight: 5},
	{Name: "Linen Tea Towel", Category: "Kitchen", Brand: "Holt & Ham", Price: 9.75, weight: 12},

	{Name: "Ridge Two-person Tent", Category: "Outdoor", Brand: "Farfell", Price: 219, weight: 5},
	{Name: "Down Sleeping Bag", Category: "Outdoor", Brand: "Farfell", Price: 164.50, weight: 4},
	{Name: "Trail Backpack", Category: "Outdoor", Brand: "Farfell", Price: 118, weight: 7},
	{Name: "Camping Stove", Category: "Outdoor", Brand: "Farfell", Price: 57.25, weight: 6},
	{Name: "Steel Water Bottle", Category: "Outdoor", Brand: "Nordkant", Price: 24.50, weight: 14},
	{Name: "Folding Chair", Category: "Outdoor", Brand: "Nordkant", Price: 42, weight: 9},

	{Name: "Copper Watering Can", Category: "Garden", Brand: "Greenhand", Price: 54.50, weight: 6},
	{Name: "Pruning Shears", Category: "Garden", Brand: "Greenhand", Price: 29.75, weight: 9},
	{Name: "Raised Bed Kit", Category: "Garden", Brand: "Greenhand", Price: 129, weight: 4},
	{Name: "Terracotta Pot", Category: "Garden", Brand: "Tonwerk", Price: 17.50, weight: 13},
	{Name: "Herb Seed Box", Category: "Garden", Brand: "Tonwerk", Price: 12.25, weight: 14},

	{Name: "Paper Pendant Lamp", Category: "Lighting", Brand: "Lumenhof", Price: 69, weight: 7},
	{Name: "Brass Desk Lamp", Category: "Lighting", Brand: "Lumenhof", Price: 96.50, weight: 6},
	{Name: "Rechargeable Lantern", Category: "Lighting", Brand: "Nordkant", Price: 44.75, weight: 8},
	{Name: "Beeswax Candles", Category: "Lighting", Brand: "Tonwerk", Price: 18, weight: 11},

	{Name: "Wooden Train Set", Category: "Toys", Brand: "Kleinwelt", Price: 59.50, weight: 7},
	{Name: "Building Blocks", Category: "Toys", Brand: "Kleinwelt", Price: 34.25, weight: 10},
	{Name: "Plush Badger", Category: "Toys", Brand: "Kleinwelt", Price: 22, weight: 9},
	{Name: "Forest Puzzle", Category: "Toys", Brand: "Kleinwelt", Price: 16.50, weight: 9},
}

// seasons say how well each category sells from January to December, in percent
// of an ordinary month.
var seasons = map[string][12]int{
	"Kitchen":  {85, 85, 90, 95, 95, 90, 85, 90, 100, 110, 140, 185},
	"Outdoor":  {40, 45, 70, 110, 160, 190, 185, 150, 95, 60, 60, 90},
	"Garden":   {30, 60, 150, 220, 210, 150, 100, 80, 85, 60, 35, 40},
	"Lighting": {115, 100, 85, 70, 60, 50, 50, 65, 95, 130, 160, 190},
	"Toys":     {60, 60, 70, 85, 70, 70, 70, 75, 75, 90, 190, 310},
}
