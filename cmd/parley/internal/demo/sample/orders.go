package sample

import "time"

// The sample's two years.
var (
	firstDay = time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)
	lastDay  = time.Date(2025, time.December, 31, 0, 0, 0, 0, time.UTC)
)

// days is how many days they have.
const days = 366 + 365

// Order is a row of orders.
type Order struct {
	ID         int     `json:"order_id"`
	CustomerID int     `json:"customer_id"`
	ProductID  int     `json:"product_id"`
	OrderedAt  string  `json:"ordered_at"`
	Quantity   int     `json:"quantity"`
	Amount     float64 `json:"amount"`
	Channel    string  `json:"channel"`
	Status     string  `json:"status"`
}

func ordersDataset() Dataset {
	return Dataset{
		Name:        "orders",
		Description: "Orders of the shop in 2024 and 2025, one row for each: who bought which product, when, and for how much.",
		Fields: map[string]string{
			"order_id":    "number of the order",
			"customer_id": "the customer who ordered",
			"product_id":  "the product that was ordered",
			"ordered_at":  "date and time of the order",
			"quantity":    "how many pieces were ordered",
			"amount":      "revenue of the order in euros: the quantity times the price",
			"channel":     "where the order came from: web, app or phone",
			"status":      "delivered, shipped, pending, cancelled or returned",
		},
		Rows: rowsOf(Orders()),
	}
}

// Orders gives the shop's orders, oldest first.
func Orders() []Order {
	d := dice(2024)
	customers, products := Customers(), Products()
	var all []Order
	for day := range days {
		date := firstDay.AddDate(0, 0, day)
		for minute := range spread(&d, ordersOn(&d, date)) {
			all = append(all, newOrder(&d, len(all)+1, date.Add(time.Duration(minute)*time.Minute), customers, products))
		}
	}
	return all
}

// ordersOn is how many orders a day brings: more at weekends, before Christmas
// and in the second year.
func ordersOn(d *dice, date time.Time) int {
	percent := 100
	for _, share := range seasons {
		percent += share[date.Month()-1] - 100
	}
	percent = (400 + percent) / 5 // a part of the seasons is in what is bought
	if date.Weekday() == time.Saturday || date.Weekday() == time.Sunday {
		percent = percent * 13 / 10
	}
	if date.Year() == lastDay.Year() {
		percent = percent * 12 / 10
	}
	return (percent*5 + d.below(300)) / 100
}

// spread gives n minutes of a day in which people are awake, in their order.
func spread(d *dice, n int) func(yield func(int) bool) {
	const from, until = 7 * 60, 23 * 60
	return func(yield func(int) bool) {
		for i := range n {
			width := (until - from) / n
			if !yield(from + i*width + d.below(width)) {
				return
			}
		}
	}
}

func newOrder(d *dice, id int, at time.Time, customers []Customer, products []Product) Order {
	buyer := customers[d.pick(weigh(customers, func(c Customer) int {
		if c.signedUp.After(at) {
			return 0
		}
		return c.weight
	}))]
	product := products[d.pick(weigh(products, func(p Product) int { return p.weight * seasons[p.Category][at.Month()-1] }))]
	quantity := 1 + d.pick([]int{70, 18, 8, 4})
	if buyer.Segment == business {
		quantity += 1 + d.below(6)
	}
	return Order{
		ID: id, CustomerID: buyer.ID, ProductID: product.ID, OrderedAt: at.Format("2006-01-02T15:04:05"),
		Quantity: quantity, Amount: float64(quantity) * product.Price,
		Channel: channel(d, at, buyer), Status: status(d, at, product),
	}
}

func weigh[T any](things []T, weight func(T) int) []int {
	weights := make([]int, len(things))
	for i, thing := range things {
		weights[i] = weight(thing)
	}
	return weights
}

// channel moves from the web to the app over the years; businesses like to call.
func channel(d *dice, at time.Time, buyer Customer) string {
	months := int(at.Sub(firstDay).Hours() / 24 / 30)
	weights := []int{75 - months, 18 + months, 7}
	if buyer.Segment == business {
		weights = []int{55, 10, 35}
	}
	return []string{"web", "app", "phone"}[d.pick(weights)]
}

// status is settled but for the last days. Lamps come back most often.
func status(d *dice, at time.Time, product Product) string {
	returned := 4
	if product.Category == "Lighting" {
		returned = 9
	}
	switch age := lastDay.Sub(at).Hours() / 24; {
	case age < 3:
		return []string{"pending", "cancelled"}[d.pick([]int{94, 6})]
	case age < 8:
		return []string{"shipped", "delivered", "cancelled"}[d.pick([]int{65, 30, 5})]
	}
	return []string{"delivered", "cancelled", "returned"}[d.pick([]int{95 - returned, 5, returned})]
}
