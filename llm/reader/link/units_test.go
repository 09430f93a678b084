package link_test

import (
	"strings"
	"testing"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// TestUnits compares numbers in the unit of what they are compared with.
func TestUnits(t *testing.T) {
	t.Parallel()
	column := func(name, kind string) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: kind, Distinct: 9, Filled: 9}
	}
	cat := catalog.New([]*catalog.Profile{{Name: "films", Rows: 9, Columns: []catalog.ColumnProfile{
		column("length_minutes", "BIGINT"), column("weight_kg", "DOUBLE"), column("gross_millions", "DOUBLE"), column("seats", "BIGINT"), column("made_on", "DATE"), column("shown_on", "DATE"),
		column("rental_days", "BIGINT"), column("term_months", "BIGINT"), column("reel_length_m", "DOUBLE"),
	}}}, nil)
	for _, test := range []struct{ question, left, want string }{
		{"films longer than 2 hours", "c0 > v0", `"length_minutes" > 120`},
		{"films between 1 and 2 hours", "c0 between v0 v1", `"length_minutes" BETWEEN 60 AND 120`},
		{"films over 90 minutes", "c0 > v0", `"length_minutes" > 90`},
		{"films over 90min", "c0 > v0", `"length_minutes" > 90`},
		{"films over 1.5h", "c0 > v0", `"length_minutes" > 90`},
		{"reels over 500 g", "c1 > v0", `"weight_kg" > 0.5`},
		{"gross above $1.2M", "c2 > v1", `"gross_millions" > 1.2`},
		{"gross above 900k", "c2 > v0", `"gross_millions" > 0.9`},
		{"gross above 900", "c2 > v0", `"gross_millions" > 900`},
		{"more than 2 thousand seats", "c3 > v1", `"seats" > 2000`},
		{"shown 2 weeks after they were made", "days c4 c5 > v0", `date_diff('day', "made_on", "shown_on") > 14`},
		{"shown more than 1 month after they were made", "days c4 c5 > v0", `date_diff('day', "made_on", "shown_on") > 30`},
		{"rented longer than 1 year", "c6 > v0", `"rental_days" > 365`},
		{"a term of at least 104 weeks", "c7 >= v0", `"term_months" >= 24`},
		{"reels over 30m", "c8 > v0", `"reel_length_m" > 30`},
		{"reels over 1.5 m", "c8 > v0", `"reel_length_m" > 1.5`},
		{"gross above $30m", "c2 > v0", `"gross_millions" > 30`},
		{"gross above 30M", "c2 > v0", `"gross_millions" > 30`},
		{"gross above 30m euros", "c2 > v0", `"gross_millions" > 30`},
		{"films longer than an hour", "c0 > v0", `"length_minutes" > 60`},
		{"films longer than one hour", "c0 > v0", `"length_minutes" > 60`},
		{"films of at least half an hour", "c0 >= v0", `"length_minutes" >= 30`},
		{"films over an hour and a half", "c0 > v0", `"length_minutes" > 90`},
		{"rented for more than a week", "c6 > v0", `"rental_days" > 7`},
		{"rented for longer than a month", "c6 > v0", `"rental_days" > 30`},
		{"more than a thousand seats", "c3 > v0", `"seats" > 1000`},
		{"gross above half a million", "c2 > v0", `"gross_millions" > 0.5`},
		{"rentals of more than 2 kg", "c6 > v0", ""},
		{"films with an average of more than 2 hours", "c0 > v0", `"length_minutes" > 120`},
	} {
		var values []ir.Value
		for _, v := range link.Values(link.Tokenize(test.question), cat, now) {
			values = append(values, v.Value)
			if strings.Contains(test.question, "2 hours") && v.Text == "2" && v.End-v.Start != 2 {
				t.Errorf("%s: the value has %d words", test.question, v.End-v.Start)
			}
		}
		tokens, err := ir.ParseText("select count * from t0 where " + test.left)
		if err != nil {
			t.Fatal(err)
		}
		q, err := ir.Parse(tokens, values)
		if err != nil {
			t.Errorf("%s: %v", test.question, err)
			continue
		}
		sql, err := ir.SQL(q, cat, now)
		if (err == nil) != (test.want != "") || !strings.HasSuffix(sql, test.want) {
			t.Errorf("%s: %s, %v", test.question, sql, err)
		}
		s := ir.Start()
		for _, token := range tokens {
			if token.Class == ir.ValueRef && s.Fits(s.Allowed(), token, cat, values[token.N]) != (test.want != "") {
				t.Errorf("%s: value %d fits: %v", test.question, token.N, test.want == "")
			}
			s, _ = s.Next(token)
		}
	}
}
