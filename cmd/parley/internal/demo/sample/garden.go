package sample

import "time"

// Bed is a row of beds.
type Bed struct {
	Name     string  `json:"bed"`
	Area     float64 `json:"area_m2"`
	Exposure string  `json:"exposure"`
}

// Harvest is a row of harvests.
type Harvest struct {
	On     string  `json:"harvested_on"`
	Bed    string  `json:"bed"`
	Crop   string  `json:"crop"`
	Weight float64 `json:"weight_kg"`
}

func bedsDataset() Dataset {
	return Dataset{
		Name:        "beds",
		Description: "The beds of a vegetable garden.",
		Fields: map[string]string{
			"bed":      "name of the bed",
			"area_m2":  "area of the bed in square metres",
			"exposure": "sunny, half shade or shade",
		},
		Rows: rowsOf(Beds()),
	}
}

func harvestsDataset() Dataset {
	return Dataset{
		Name:        "harvests",
		Description: "What was harvested in the garden in 2024 and 2025, one row for each crop and day.",
		Fields: map[string]string{
			"harvested_on": "date of the harvest",
			"bed":          "the bed that it grew in",
			"crop":         "the crop, such as tomatoes",
			"weight_kg":    "weight in kilograms",
		},
		Rows: rowsOf(Harvests()),
	}
}

// Beds gives the beds of the garden.
func Beds() []Bed {
	return []Bed{{"North", 6, "half shade"}, {"South", 8.5, "sunny"}, {"Wall", 3, "sunny"}, {"Apple tree", 4.5, "shade"}}
}

var crops = []struct {
	name, bed   string
	first, last time.Month
	grams       int // about a harvest
}{
	{"Tomatoes", "South", time.July, time.September, 2400},
	{"Courgettes", "South", time.June, time.September, 1900},
	{"Beans", "Wall", time.July, time.August, 900},
	{"Carrots", "North", time.July, time.October, 1300},
	{"Chard", "North", time.May, time.October, 700},
	{"Lettuce", "Apple tree", time.May, time.July, 500},
	{"Rhubarb", "Apple tree", time.April, time.June, 1100},
}

// Harvests gives what the garden brought, oldest first: each crop every two weeks
// of its season.
func Harvests() []Harvest {
	d := dice(5)
	var all []Harvest
	for day := 0; day < days; day += 7 {
		for i, crop := range crops {
			on := firstDay.AddDate(0, 0, day+i)
			if (day/7+i)%2 == 0 && on.Month() >= crop.first && on.Month() <= crop.last {
				// In quarters of a kilogram, as the scale shows them.
				quarters := 1 + crop.grams*(60+d.below(80))/100/250
				all = append(all, Harvest{on.Format(time.DateOnly), crop.bed, crop.name, float64(quarters) / 4})
			}
		}
	}
	return all
}
