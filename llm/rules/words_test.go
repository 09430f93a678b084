package rules

import (
	"slices"
	"strings"
	"testing"
)

func TestLemma(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"dogs": "dog", "cities": "city", "boxes": "box", "ids": "id", "people": "person", "glass": "glass",
		"status": "status", "churches": "church", "movies": "movie", "is": "is", "gas": "gas"} {
		if got := lemma(word); got != want {
			t.Errorf("lemma(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestAlike(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"dog", "dog"}, {"number", "no"}, {"shop", "store"}, {"accelerate", "acceleration"}, {"destination", "dest"}, {"costing", "price"}, {"weigh", "weight"}, {"elevetion", "elevation"}} {
		if alike(pair[0], pair[1]) < 0.7 {
			t.Errorf("alike(%q, %q) = %v", pair[0], pair[1], alike(pair[0], pair[1]))
		}
	}
	for _, pair := range [][2]string{{"dog", "cat"}, {"country", "county"}, {"number", "id"}, {"population", "popular"}} {
		if alike(pair[0], pair[1]) > 0.7 {
			t.Errorf("alike(%q, %q) = %v", pair[0], pair[1], alike(pair[0], pair[1]))
		}
	}
}

func TestNameWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Owner_ID": "owner id", "SurfaceArea": "surface area", "GNPOld": "gnp old", "Prize ($)": "prize money", "% of votes": "percentage of vote", "#": "number",
		"LName": "last name", "Fname": "first name", "surname": "last name", "F_Score": "f score"} {
		if got := strings.Join(nameWords(name), " "); got != want {
			t.Errorf("nameWords(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestPlacesOf(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"french": "france", "asian": "asia", "kenyans": "kenya", "bolivian": "bolivia"} {
		if !slices.Contains(placesOf(word), want) {
			t.Errorf("placesOf(%q) = %v", word, placesOf(word))
		}
	}
}

func TestKindOfValues(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want   kind
		values []string
	}{
		{kindNumber, []string{"1,234", "12", "–", "$5.00", "7 km", "3 (2nd)"}},
		{kindDate, []string{"12 March 1999", "May 3, 2001", "2003-04-05", "July 2004"}},
		{kindTime, []string{"4:05", "12:33.5", "1:02:03"}},
		{kindText, []string{"Rome", "Oslo", "12", "March of the dogs"}},
		{kindText, nil},
	} {
		if got, _ := kindOfValues(test.values); got != test.want {
			t.Errorf("kindOfValues(%q) = %v, want %v", test.values, got, test.want)
		}
	}
}

// TestReadText compares what the SQL for texts of numbers, times and dates gives.
func TestReadText(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	for _, test := range []struct {
		kind kind
		cell string
		want string
	}{
		{kindNumber, "1,234.5 km", "1234.5"}, {kindNumber, "−7", "-7.0"}, {kindNumber, "n/a", ""}, {kindNumber, "12th", "12.0"},
		{kindTime, "4:05", "245.0"}, {kindTime, "1:02:03", "3723.0"}, {kindTime, "x", ""},
		{kindDate, "12 March 1999", "1999-03-12 00:00:00"}, {kindDate, "May 3rd, 2001 (late)", "2001-05-03 00:00:00"}, {kindDate, "soon", ""},
	} {
		c := &column{kind: test.kind}
		rows, err := d.Query(t.Context(), "SELECT "+c.numeric(literal(test.cell))+" AS v")
		if err != nil {
			t.Fatal(err)
		}
		if _, cells := cellsRaw(rows); cells[0][0] != test.want {
			t.Errorf("%q reads as %q, want %q", test.cell, cells[0][0], test.want)
		}
	}
}

func TestDateAt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]date{
		"march 8, 2003": {2003, 3, 8}, "8 march 2003": {2003, 3, 8}, "september 8": {0, 9, 8}, "june 2001": {2001, 6, 0}, "the 3rd": {}, "may be": {},
	} {
		if got, _, ok := dateAt(tokenize(text), 0); got != want || ok != (want != date{}) {
			t.Errorf("dateAt(%q) = %+v, %v", text, got, ok)
		}
	}
}

func TestPhrase(t *testing.T) {
	t.Parallel()
	tokens := tokenize("no fewer than the 3 dogs")
	for pattern, want := range map[string]int{"no|not less|fewer than": 3, "no fewer a? than the?": 4, "fewer": -1, "no fewer than the 3 dogs cats": -1} {
		if got := phrase(tokens, 0, pattern); got != want {
			t.Errorf("phrase(%q) = %d, want %d", pattern, got, want)
		}
	}
}
