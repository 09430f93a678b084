package sample

import (
	"strings"
	"time"
)

// Customer is a row of customers.
type Customer struct {
	ID         int    `json:"customer_id"`
	Name       string `json:"name"`
	Email      string `json:"email"`
	City       string `json:"city"`
	Country    string `json:"country"`
	Segment    string `json:"segment"`
	SignedUpOn string `json:"signed_up_on"`

	signedUp time.Time
	weight   int // how readily they buy
}

const (
	consumer = "consumer"
	business = "business"
)

const people = 240

func customersDataset() Dataset {
	return Dataset{
		Name:        "customers",
		Description: "The shop's customers, one row each: private people and a few businesses.",
		Fields: map[string]string{
			"customer_id":  "number of the customer",
			"name":         "name of the person or business",
			"email":        "email address",
			"city":         "city where the customer lives",
			"country":      "country of that city",
			"segment":      "consumer or business",
			"signed_up_on": "date on which the customer signed up",
		},
		Rows: rowsOf(Customers()),
	}
}

// Customers gives the shop's customers. A few businesses come first.
func Customers() []Customer {
	d := dice(11)
	var all []Customer
	for i, name := range businesses {
		all = append(all, newCustomer(&d, len(all)+1, name, business, 11-i))
	}
	for i := range people {
		// Both lists are walked at different paces, so that no name comes twice.
		name := firstNames[i%len(firstNames)] + " " + lastNames[(i+i/len(firstNames)*7)%len(lastNames)]
		all = append(all, newCustomer(&d, len(all)+1, name, consumer, 1+d.below(4)*d.below(3)))
	}
	return all
}

func newCustomer(d *dice, id int, name, segment string, weight int) Customer {
	weights := make([]int, len(cities))
	for i, city := range cities {
		weights[i] = city.weight
	}
	city := cities[d.pick(weights)]
	signedUp := firstDay.AddDate(0, 0, -1-d.below(365))
	if segment == consumer && d.below(5) < 2 {
		signedUp = firstDay.AddDate(0, 0, d.below(days-60))
	}
	return Customer{
		ID: id, Name: name, Email: strings.ReplaceAll(strings.ToLower(name), " ", ".") + "@" + mailHosts[segment],
		City: city.name, Country: city.country, Segment: segment, SignedUpOn: signedUp.Format(time.DateOnly),
		signedUp: signedUp, weight: weight,
	}
}

// mailHosts are names that nobody can own.
var mailHosts = map[string]string{consumer: "mail.example", business: "office.example"}

var cities = []struct {
	name, country string
	weight        int
}{
	{"Berlin", "Germany", 22}, {"Hamburg", "Germany", 14}, {"Munich", "Germany", 13}, {"Leipzig", "Germany", 6},
	{"Vienna", "Austria", 12}, {"Graz", "Austria", 4},
	{"Zurich", "Switzerland", 8}, {"Basel", "Switzerland", 4},
	{"Amsterdam", "Netherlands", 9}, {"Utrecht", "Netherlands", 4},
	{"Copenhagen", "Denmark", 7}, {"Aarhus", "Denmark", 3},
}

var businesses = []string{
	"Hotel Seeblick", "Kontor Nord", "Cafe Morgenrot", "Studio Halden", "Brightwater Rentals",
	"Linden Kindergarten", "Atelier Vos", "Campground Pinehill",
}

var firstNames = strings.Fields(`Anna Jonas Mia Felix Lena Paul Clara Emil Sophie Lukas Ida Noah Marie Anton Freya Oskar
	Johanna Mads Elin Theo Greta Lars Nora Bram Laura Milan Eva Tobias Sanne Simon Helena Karl Julia Sven Petra Daan Rosa Viktor
	Alma Henrik`)

var lastNames = strings.Fields(`Berger Vogel Jansen Keller Lindqvist Hofer Brandt Madsen Visser Steiner Winkler Holm Baumann
	Roth Dekker Fischer Gruber Nygaard Sommer Huber Bakker Krause Egger Thomsen Wolf Meier Kuiper Lorenz Frei Bach Aigner Moser
	Dahl Peeters Ziegler Haas Wagner`)
