package catalog_test

import (
	"testing"

	"parley/llm/reader/catalog"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, kind, description, want string }{
		{"duration_minutes", "DOUBLE", "", "minute"}, {"durationMin", "DOUBLE", "", "minute"}, {"minutes_played", "BIGINT", "", "minute"}, {"min_price", "DOUBLE", "", ""},
		{"weight_kg", "DOUBLE", "", "kilogram"}, {"price_per_kg", "DOUBLE", "", ""}, {"distance", "DOUBLE", "How far, in kilometres", "kilometre"}, {"runtime", "BIGINT", "Length in minutes", "minute"},
		{"revenue (millions)", "DOUBLE", "", "million"}, {"size_m", "DOUBLE", "", "metre"}, {"m", "DOUBLE", "", ""}, {"minutes", "VARCHAR", "", ""}, {"day", "BIGINT", "", ""}, {"birth_year", "BIGINT", "", ""}, {"age_months", "BIGINT", "", "month"}, {"time", "TIME", "", "second"},
		{"population", "BIGINT", "People, about 3 million in Berlin", ""}, {"price", "DOUBLE", "Price per kilogram", ""}, {"price", "DOUBLE", "Price per 100 grams", ""}, {"revenue", "DOUBLE", "Revenue in millions of euros", "million"},
		{"duration", "DOUBLE", "Duration (h)", "hour"}, {"duration", "DOUBLE", "Duration in days; was in hours", "day"}, {"wait", "BIGINT", "The number of minutes.", "minute"}, {"area", "DOUBLE", "Area in square metres", ""},
		{"speed", "DOUBLE", "Speed in kilometres per hour", ""}, {"speed", "DOUBLE", "Speed in km/h", ""}, {"closed", "BIGINT", "Closed within 3 days", ""}, {"seats", "BIGINT", "Seats sold, some for hours on end", ""},
		{"temp_min", "DOUBLE", "", ""}, {"speed_km_h", "DOUBLE", "", ""}, {"size_s", "BIGINT", "", ""}, {"wind_m_s", "DOUBLE", "", ""}, {"flow_l_min", "DOUBLE", "", ""}, {"density_kg_m3", "DOUBLE", "", ""}, {"stock_min", "BIGINT", "", ""},
		{"length_min", "BIGINT", "", "minute"}, {"lap_s", "DOUBLE", "", "second"}, {"weight_g", "DOUBLE", "", "gram"}, {"wait_min", "BIGINT", "", "minute"},
	} {
		cat := catalog.New([]*catalog.Profile{{Name: "t", Rows: 1, Columns: []catalog.ColumnProfile{{Name: test.name, Type: test.kind, Description: test.description}}}}, nil)
		if got := cat.Columns[0].Unit; got != test.want {
			t.Errorf("%s has the unit %q, want %q", test.name, got, test.want)
		}
	}
	for _, test := range []struct{ number, from, to, want string }{
		{"2", "hour", "minute", "120"}, {"90", "minute", "hour", "1.5"}, {"3000000", "one", "million", "3"}, {"0.1", "kilometre", "metre", "100"}, {"2", "week", "day", "14"},
		{"1", "year", "day", "365"}, {"2", "year", "day", "730"}, {"1", "month", "day", "30"}, {"104", "week", "month", "24"}, {"2", "year", "month", "24"}, {"18", "month", "year", "1.5"}, {"1", "month", "week", "4.34821428571"},
		{"2", "hour", "metre", ""}, {"2", "", "metre", ""}, {"x", "hour", "minute", ""},
	} {
		if got, ok := catalog.Convert(test.number, test.from, test.to); got != test.want || ok != (test.want != "") {
			t.Errorf("%s %s are %q %s, want %q", test.number, test.from, got, test.to, test.want)
		}
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{{"kilogram", "hour", false}, {"year", "day", true}, {"", "hour", true}, {"one", "kilometre", true}, {"metre", "litre", false}} {
		if got := catalog.CanCompare(test.a, test.b); got != test.want {
			t.Errorf("%s can be compared with %s: %v", test.a, test.b, got)
		}
	}
}
