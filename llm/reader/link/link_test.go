package link_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// A Sunday.
var now = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

func TestTokenize(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"How many orders cost 1,250.50?":     "How|many|orders|cost|1,250.50|?",
		"over 100 000 km in 2024":            "over|100 000|km|in|2024",
		"12,50 or 3rd":                       "12,50|or|3rd",
		"over 1.250,50 or 2.000.000, 1.250":  "over|1.250,50|or|2.000.000|,|1.250",
		"since 2024-03-15, 15.3.2024":        "since|2024-03-15|,|15.3.2024",
		"who didn't buy “Oak Table”":         "who|didn't|buy|\"|Oak|Table|\"",
		"cost >= 3 or <2":                    "cost|at|least|3|or|less|than|2",
		"O+ donors' names":                   "O|+|donors|'|names",
		"❤️":                                 "❤",
		"  ":                                 "",
		"Ärzte in Zürich":                    "Ärzte|in|Zürich",
		strings.Repeat("x ", 100):            strings.TrimSuffix(strings.Repeat("x|", 50), "|"),
		"orders from 2024-03":                "orders|from|2024-03",
		"sales between 1.5 and 2.5 (net), %": "sales|between|1.5|and|2.5|(|net|)|,|%",
	} {
		var got []string
		for _, token := range link.Tokenize(question) {
			got = append(got, token.Text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q: %q, want %q", question, strings.Join(got, "|"), want)
		}
	}
}

func TestPeriods(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024": "2024-01-01 2025-01-01", "2024-03": "2024-03-01 2024-04-01", "2024-03-15": "2024-03-15 2024-03-16", "15.3.2024": "2024-03-15 2024-03-16",
		"3/15/2024": "2024-03-15 2024-03-16", "March 2024": "2024-03-01 2024-04-01", "mar 2024": "2024-03-01 2024-04-01", "December of 2024": "2024-12-01 2025-01-01",
		"March 5, 2024": "2024-03-05 2024-03-06", "5th of March 2024": "2024-03-05 2024-03-06", "Q2 2024": "2024-04-01 2024-07-01", "2024 Q4": "2024-10-01 2025-01-01",
		"second quarter of 2024": "2024-04-01 2024-07-01", "1990s": "1990-01-01 2000-01-01", "today": "2025-06-15 2025-06-16", "yesterday": "2025-06-14 2025-06-15",
		"this week": "2025-06-09 2025-06-16", "last week": "2025-06-02 2025-06-09", "last month": "2025-05-01 2025-06-01", "this quarter": "2025-04-01 2025-07-01",
		"last quarter": "2025-01-01 2025-04-01", "last year": "2024-01-01 2025-01-01", "past 30 days": "2025-05-17 2025-06-16", "last three months": "2025-03-16 2025-06-16",
		"last 7 days": "2025-06-09 2025-06-16", "last 2 weeks": "2025-06-02 2025-06-16",
		"next 7 days": "2025-06-15 2025-06-22", "year to date": "2025-01-01 2025-06-16",
	} {
		from, to, ok := link.PeriodOf(link.Tokenize(text), now)
		if got := from + " " + to; !ok || got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"12", "may", "the last", "9999", "31.13.2024", "Q5 2024", "last"} {
		if from, to, ok := link.PeriodOf(link.Tokenize(text), now); ok {
			t.Errorf("%q is from %s to %s", text, from, to)
		}
	}
}

// TestPeriodsAtMonthEnds ends periods on the last day of shorter months.
func TestPeriodsAtMonthEnds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ today, text, want string }{
		{"2025-05-30", "last 3 months", "2025-02-28 2025-05-31"},
		{"2024-05-30", "last 3 months", "2024-02-29 2024-05-31"},
		{"2024-02-29", "last 12 months", "2023-03-01 2024-03-01"},
		{"2024-02-28", "last 1 years", "2023-02-28 2024-02-29"},
		{"2024-02-29", "next 2 years", "2024-02-29 2026-02-28"},
		{"2024-08-31", "next 6 months", "2024-08-31 2025-02-28"},
		{"2024-02-29", "last 2 quarters", "2023-09-01 2024-03-01"},
	} {
		today, err := time.Parse(time.DateOnly, test.today)
		if err != nil {
			t.Fatal(err)
		}
		from, to, ok := link.PeriodOf(link.Tokenize(test.text), today)
		if got := from + " " + to; !ok || got != test.want {
			t.Errorf("%s on %s is %q, want %q", test.text, test.today, got, test.want)
		}
	}
}

// values finds those of a question, as text.
func values(question string) []string {
	cat := catalogtest.Shop()
	var all []string
	for _, v := range link.Values(link.Tokenize(question), cat, now) {
		text := v.Text
		if v.How == link.Suggested {
			text = "suggested " + text
		}
		for c, cells := range v.Cells {
			text += " " + cat.Columns[c].Name + "=" + strings.Join(cells, "/")
		}
		all = append(all, text)
	}
	return all
}

// TestSuggestions takes no name for another one that is used like it.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{"customers from france": true, "customers from France": false} {
		got := slices.ContainsFunc(values(question), func(v string) bool { return strings.HasPrefix(v, "suggested Germany") })
		if got != want {
			t.Errorf("%s: Germany is suggested: %v", question, got)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for question, want := range map[string][]string{
		"orders from hamburg":                          {"Hamburg city=Hamburg"},
		"how many oak tables did Ada Moss buy":         {"Oak Table title=Oak Table", "Ada Moss name=Ada Moss"},
		`products called "Red Lamp"`:                   {"Red Lamp title=Red Lamp"},
		"orders over 12,50":                            {"12.5", "$12.50 price=$12.50"},
		"more than 3 million":                          {"3", "3000000"},
		"below -5 or - 7 in 10-20":                     {"-5", "7", "10", "20"},
		"German customers":                             {"Germany country=Germany"},
		"in June to August 2024":                       {"June", "August 2024", "6", "8"},
		"cancellations in 2024":                        {"suggested Cancelled status=Cancelled", "2024"},
		"customers in Hambrug":                         {"Hamburg city=Hamburg"},
		"orders a day":                                 nil,
		"names with the letter w":                      {"w"},
		"what is the average":                          nil,
		"Cleo's orders":                                {"Cleo name=Cleo Park"},
		"the last 3 months and two of them on Mondays": {"last 3 months", "2", "1"},
	} {
		// Suggestions are for the network to weigh.
		got := slices.DeleteFunc(values(question), func(v string) bool {
			return strings.HasPrefix(v, "suggested ") && !slices.Contains(want, v)
		})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q\n got %q\nwant %q", question, got, want)
		}
	}
}

// TestPartsOfCells finds members of lists in cells: words that many cells have, and several words.
func TestPartsOfCells(t *testing.T) {
	t.Parallel()
	var recipes []string
	for _, other := range strings.Fields("apple barley carrot dill egg fennel garlic honey ice jam kale leek milk nut oat pea quince rice salt tea udon vinegar wine yam zest almond basil") {
		recipes = append(recipes, other+", coconut")
	}
	recipes = append(recipes, "brown sugar, lemon", "lemon, brown sugar, rum")
	slices.Sort(recipes)
	cat := catalog.New([]*catalog.Profile{{Name: "recipes", Rows: 40, Columns: []catalog.ColumnProfile{
		{Name: "ingredients", Type: "VARCHAR", Values: recipes, Complete: true, Distinct: int64(len(recipes)), Filled: 40}}}}, nil)
	for question, want := range map[string]string{
		// Too many cells to list.
		"how many recipes use coconut": "coconut 0", "recipes with coconuts": "coconut 0",
		"which recipes take brown sugar": "brown sugar 2",
	} {
		var got []string
		for _, v := range link.Values(link.Tokenize(question), cat, now) {
			got = append(got, fmt.Sprint(v.Text, " ", len(v.Cells[0])))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

// TestQuarters finds quarters of any year, which are no months.
func TestQuarters(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for question, want := range map[string]string{"orders in Q4": "4", "orders in the fourth quarter": "4", "orders in quarter 2": "2", "orders last quarter": "", "orders in Q5": ""} {
		got := ""
		for _, v := range link.Values(link.Tokenize(question), cat, now) {
			if v.Kind != ir.QuarterValue {
				continue
			}
			got = v.Text
			for query, fits := range map[string]bool{
				"select count * where quarter": true, "select count * where monthof": false, "select count * where month": false, "select count * where": false,
			} {
				tokens, err := ir.ParseText(query)
				if err != nil {
					t.Fatal(err)
				}
				s := ir.Start()
				for _, token := range append(tokens, ir.Token{Class: ir.ColumnRef, N: catalogtest.Column(cat, "orders", "ordered_at")}, ir.KeywordToken("=")) {
					s, _ = s.Next(token)
				}
				if s.Fits(s.Allowed(), ir.Token{Class: ir.ValueRef}, cat, v.Value) != fits {
					t.Errorf("%s … = %s fits: %v", query, question, !fits)
				}
			}
		}
		if got != want {
			t.Errorf("%q has quarter %q, want %q", question, got, want)
		}
	}
}

// TestQuarterCells compares a quarter with the cells of a column of quarters.
func TestQuarterCells(t *testing.T) {
	t.Parallel()
	cat := catalog.New([]*catalog.Profile{{Name: "sales", Rows: 4, Columns: []catalog.ColumnProfile{
		{Name: "quarter", Type: "VARCHAR", Values: []string{"Q1", "Q2", "Q3", "Q4"}, Complete: true, Distinct: 4, Filled: 4},
		{Name: "grade", Type: "VARCHAR", Values: []string{"Q3", "none"}, Complete: true, Distinct: 2, Filled: 4},
	}}}, nil)
	for _, question := range []string{"sales in the third quarter", "sales in Q3", "sales in quarter 3"} {
		kinds := map[ir.ValueKind]bool{}
		for _, v := range link.Values(link.Tokenize(question), cat, now) {
			if slices.Equal(v.Cells[0], []string{"Q3"}) {
				kinds[v.Kind] = true
			}
			if v.Kind == ir.QuarterValue && len(v.Cells[1]) > 0 {
				t.Errorf("%s: the quarter is a grade", question)
			}
		}
		if !kinds[ir.TextValue] || !kinds[ir.QuarterValue] {
			t.Errorf("%s: the values of Q3 have the kinds %v", question, kinds)
		}
	}
}

// TestInput looks at what the network is told of a question.
func TestInput(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	tokens := link.Tokenize("total amount of orders in Hamburg")
	found := link.Values(tokens, cat, now)
	in := link.New(tokens, cat, found, nil, nil)
	n := len(in.Items)
	if want := len(tokens) + len(cat.Tables) + len(cat.Columns) + len(found); n != want || len(in.Relations) != n*n {
		t.Fatalf("%d items, %d relations; want %d items", n, len(in.Relations), want)
	}
	has := func(from, to int, r link.Relation) bool { return in.Relations[from*n+to]&(1<<r) != 0 }
	amount := in.ItemOf(ir.Token{Class: ir.ColumnRef, N: catalogtest.Column(cat, "orders", "amount")})
	city := in.ItemOf(ir.Token{Class: ir.ColumnRef, N: catalogtest.Column(cat, "customers", "city")})
	orders, value := in.ItemOf(ir.Token{Class: ir.TableRef, N: 2}), in.ItemOf(ir.Token{Class: ir.ValueRef})
	for name, ok := range map[string]bool{
		"amount names the column":       has(1, amount, link.ExactColumn) && has(amount, 1, link.ColumnExact),
		"orders names the table":        has(3, orders, link.ExactTable),
		"Hamburg is the value":          has(5, value, link.WordOfValue),
		"the value is in the column":    has(value, city, link.ValueInColumn) && has(city, value, link.ColumnOfValue),
		"the column is in the table":    has(amount, orders, link.ColumnInTable),
		"amount says nothing of cities": !has(1, city, link.ExactColumn) && !has(1, city, link.PartColumn),
	} {
		if !ok {
			t.Error(name)
		}
	}
	for item := range n {
		if token, ok := in.Token(item); ok && in.ItemOf(token) != item {
			t.Errorf("item %d is token %s, which is item %d", item, token, in.ItemOf(token))
		}
	}
}

// TestNames looks at words that names and questions write differently.
func TestNames(t *testing.T) {
	t.Parallel()
	column := func(name, kind string) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: kind, Distinct: 9, Filled: 9}
	}
	cat := catalog.New([]*catalog.Profile{{Name: "readings", Rows: 9, Columns: []catalog.ColumnProfile{
		column("NO2_ugm3", "DOUBLE"), column("email", "VARCHAR"), column("day_ahead_price", "DOUBLE"), column("revenue", "DOUBLE"), column("PM2.5 (µg)", "DOUBLE"), column("temp", "DOUBLE"), column("s_5", "DOUBLE"),
	}}}, nil)
	for question, want := range map[string]int{
		"highest NO2 ever": 0, "total temp": 5, "the s_5 of all": 6, "e-mail please": 1, "e mail please": 1, "dayahead cost": 2, "total revnue": 3, "mean PM2.5 value": 4,
	} {
		tokens := link.Tokenize(question)
		in := link.New(tokens, cat, link.Values(tokens, cat, now), nil, nil)
		best, most := -1, 0
		for c := range cat.Columns {
			n := 0
			for i := range tokens {
				if in.Relations[i*len(in.Items)+in.ItemOf(ir.Token{Class: ir.ColumnRef, N: c})]&(1<<link.PartColumn) != 0 {
					n++
				}
			}
			if n > most {
				best, most = c, n
			}
		}
		if best != want {
			t.Errorf("%q names column %d, want %d", question, best, want)
		}
	}
}

func FuzzQuestion(f *testing.F) {
	for _, q := range []string{"orders in Hamburg last 3 months", "❤️", `"'"''`, "12,5,3.4.5/6 2024-13-45", "Q2 of of 2024", "\x00\xff"} {
		f.Add(q)
	}
	cat := catalogtest.Shop()
	f.Fuzz(func(t *testing.T, question string) {
		tokens := link.Tokenize(question)
		found := link.Values(tokens, cat, now)
		for _, v := range found {
			if v.Start < 0 || v.End > len(tokens) || v.Start > v.End {
				t.Fatalf("%q: value %q from %d to %d of %d", question, v.Text, v.Start, v.End, len(tokens))
			}
		}
		link.New(tokens, cat, found, nil, nil)
	})
}

// TestInformalSpelling reads questions in capitals, misspelled and with other endings.
func TestInformalSpelling(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for question, want := range map[string]string{
		"HOW MANY ORDERS ARE THERE": "", "Total Amount Of Orders": "", "HOW MANY CUSTOMERS IN ROME": "Rome", "orders of Otto Klein": "Otto Klein", "more than 1.250,50": "1250.5", "over 2.000.000": "2000000",
	} {
		var got []string
		for _, v := range link.Values(link.Tokenize(question), cat, now) {
			got = append(got, v.Text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
	odd := catalog.New([]*catalog.Profile{{Name: "calls", Rows: 3, Columns: []catalog.ColumnProfile{
		{Name: "land", Type: "VARCHAR", Values: []string{"AT", "CH", "NL"}, Complete: true, Distinct: 3, Filled: 3},
		{Name: "about", Type: "VARCHAR", Values: []string{"late invoice", "no vpn at home"}, Complete: true, Distinct: 2, Filled: 3},
	}}}, nil)
	for question, want := range map[string]string{
		"calls from AT or NL": "AT|NL", "calls at night": "", "CALLS AT NIGHT": "", "calls on invoices": "invoice", "vpn calls": "vpn", "calls over 20min or 30mg": "20|30",
	} {
		var got []string
		for _, v := range link.Values(link.Tokenize(question), odd, now) {
			got = append(got, v.Text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
	for question, want := range map[string]string{
		"whats the avrage amonut, pls": "what the average amonut , please", "Avrage amount? Numbr of orders": "average amount ? number of orders", "THE AVRAGE AMOUNT": "the average amount",
		"orders of Marchi from Numbeo": "orders of marchi from numbeo", "orders in Febuary": "orders in february",
	} {
		var words []string
		for _, token := range link.Tokenize(question) {
			words = append(words, token.Lower)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %s, want %s", question, got, want)
		}
	}
	sources := catalog.New([]*catalog.Profile{{Name: "sources", Rows: 3, Columns: []catalog.ColumnProfile{
		{Name: "source", Type: "VARCHAR", Values: []string{"eurostat", "numbeo"}, Complete: true, Distinct: 2, Filled: 3},
	}}}, nil)
	for word, want := range map[string]string{"numbeo": "numbeo", "numbre": "number"} {
		if got := link.New(link.Tokenize(word+" rows"), sources, nil, nil, nil).Items[0].Words[0]; got != want {
			t.Errorf("%s is read as %s", word, got)
		}
	}
	in := link.New(link.Tokenize("shipping categorization"), cat, nil, nil, nil)
	category := in.ItemOf(ir.Token{Class: ir.ColumnRef, N: catalogtest.Column(cat, "products", "category")})
	if in.Relations[1*len(in.Items)+category]&(1<<link.Prefix) == 0 {
		t.Error("categorization has nothing to do with category")
	}
}

// TestCourtesy leaves out what is polite, and nothing that may be meant.
func TestCourtesy(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]string{
		"Hi there, quick question: how many bees?":  "how many bees ?",
		"I'd like to know the number of hives":      "the number of hives",
		"hello how many bees? Thanks!":              "how many bees ?",
		"Could you please tell me which hive rules": "which hive rules",
		"Do you know how much honey we made?":       "how much honey we made ?",
		"Hi-Fi sales in May":                        "hi - fi sales in may",
		"hello kitty sales":                         "hello kitty sales",
		"so":                                        "so",
		"hi":                                        "hi",
		"thanks":                                    "thanks",
		"How many letters say thanks":               "how many letters say thanks",
		`How many songs are called "Thank You"?`:    `how many songs are called " thank you " ?`,
		"songs titled: Thanks":                      "songs titled : thanks",
		"how many songs, thanks a lot 🙂":            "how many songs ,",
	} {
		var words []string
		for _, token := range link.Tokenize(question) {
			words = append(words, token.Lower)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}

// A month or quarter of a follow-up is of the year that was asked about.
func TestWithYear(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct{ question, before, want string }{
		{"and in September?", "What was the total cost in October 2026?", "and in September 2026?"},
		{"and in September?", "What was the total cost in 2025?", "and in September 2025?"},
		{"and in the second quarter?", "Orders in Q1 2024", "and in the second quarter 2024?"},
		{"and in Q2?", "Orders in Q1 2024", "and in Q2 2024?"},
		{"and for July and August", "Orders in June 2024", "and for July 2024 and August 2024"},
		{"and in September 2024?", "Orders in June 2023", "and in September 2024?"},
		{"and in September?", "Orders since 2023", "and in September?"},
		{"and in September?", "Orders in 2023 and 2024", "and in September?"},
		{"and in September?", "Orders per city", "and in September?"},
		{"and on March 5?", "Orders in June 2024", "and on March 5 2024?"},
		{"and on Monday?", "Orders in June 2023", "and on Monday?"},
	} {
		if got := link.WithYear(test.question, []string{test.before}, now); got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.before, test.question, got, test.want)
		}
	}
	if got := link.WithYear("and in May?", []string{"Orders in June 2023", "and in July?"}, now); got != "and in May 2023?" {
		t.Errorf("the third: %q", got)
	}
}
