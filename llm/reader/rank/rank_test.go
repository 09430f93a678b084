package rank_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/rank"
)

var now = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

// ask makes a question about the shop.
func ask(text string) rank.Question {
	cat := catalogtest.Shop()
	tokens := link.Tokenize(text)
	return rank.Question{Tokens: tokens, Input: link.New(tokens, cat, link.Values(tokens, cat, now), nil, nil), Catalog: cat, Now: now, Answerable: 0.99}
}

// candidate writes a query with names of columns and tables in place of numbers, and
// values as in 'Hamburg'.
func candidate(t *testing.T, q rank.Question, text string, probability float64) net.Candidate {
	t.Helper()
	c := net.Candidate{Score: math.Log(probability)}
	for _, word := range strings.Fields(text) {
		c.Tokens = append(c.Tokens, token(t, q, word))
	}
	return c
}

func token(t *testing.T, q rank.Question, word string) ir.Token {
	t.Helper()
	if value, ok := strings.CutPrefix(word, "'"); ok {
		at := slices.IndexFunc(q.Input.Values, func(v link.ValueMatch) bool { return strings.EqualFold(v.Text, strings.TrimSuffix(value, "'")) })
		if at < 0 {
			t.Fatalf("no value %s", word)
		}
		return ir.Token{Class: ir.ValueRef, N: at}
	}
	if table, column, ok := strings.Cut(word, "."); ok {
		return ir.Token{Class: ir.ColumnRef, N: catalogtest.Column(q.Catalog, table, column)}
	}
	if at := slices.IndexFunc(q.Catalog.Tables, func(t catalog.Table) bool { return t.Name == word }); at >= 0 {
		return ir.Token{Class: ir.TableRef, N: at}
	}
	return ir.KeywordToken(word)
}

// TestUnread looks at which words a query does not reflect.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ question, query, unread string }{
		{"How many orders are there?", "select count * from orders", ""},
		{"How many orders from Hamburg are there?", "select count * from orders", "Hamburg"},
		{"how many customers are from Hamburg", "select count * from customers where customers.city = 'Hamburg'", ""},
		{"average amount of orders by channel", "select orders.channel sum orders.amount group orders.channel", "average"},
		{"average amount of orders by channel", "select orders.channel avg orders.amount group orders.channel", ""},
		{"median amount of orders by channel", "select orders.channel avg orders.amount group orders.channel", "median"},
		{"median amount of orders by channel", "select orders.channel median orders.amount group orders.channel", ""},
		{"orders that were not paid by card", "select count * from orders", "not paid card"},
		{"top 3 customers by city", "select customers.name order customers.city desc limit k3", ""},
		{"customer with the second latest order", "select customers.name order orders.ordered_at desc limit k1 nth k2", ""},
		{"customer with the second latest order", "select customers.name order orders.ordered_at desc limit k1", "second"},
		{"how many clients do we have", "select count * from customers", "clients"}, // it only resembles customers
		{"how many orders usually come in monthly", "select count * from orders group month orders.ordered_at", ""},
		{"cities that bring at least 3 orders", "select customers.city from orders group customers.city having count * >= k3", ""},
		{"how many delivered orders are unopened", "select count * from orders where orders.status = 'Delivered'", "unopened"},
		{"how many delivered orders are unopened", "select count * from orders where orders.status != 'Delivered'", ""},
		{"the busiest channel", "select orders.channel group orders.channel order count * desc limit k1", ""},
		{"how many customers take the magazine", "select count * from customers where customers.newsletter = true", "magazine"}, // a flag stands for its own word
		{"how many clients are there", "select count * from customers where customers.newsletter = true", "clients"},
		{"total amount of orders of vegetarian customers", "select sum orders.amount", "vegetarian customers"},
	} {
		q := ask(test.question)
		readings, err := rank.Readings(q, []net.Candidate{candidate(t, q, test.query, 0.9)}, func(sql string) (rank.Result, bool, error) {
			return rank.Result{Key: sql, Rows: 1}, true, nil
		})
		if err != nil || len(readings) != 1 {
			t.Fatalf("%s: %d readings, %v", test.question, len(readings), err)
		}
		if got := strings.Join(readings[0].Unread, " "); got != test.unread {
			t.Errorf("%s\n%s\nunread %q, want %q", test.question, test.query, got, test.unread)
		}
	}
}

// TestOrdinals looks at queries for one row of questions for the first, second and so on:
// those of the wrong row are less likely.
func TestOrdinals(t *testing.T) {
	t.Parallel()
	first, second := "select customers.name order customers.signed_up_on desc limit k1", "select customers.name order customers.signed_up_on desc limit k1 nth k2"
	for question, want := range map[string]string{
		"customer with the second latest sign up": second, "customer with the 2nd latest sign up": second,
		"customer with the latest sign up": first, "the runner-up among customers by latest sign up": second,
	} {
		q := ask(question)
		readings, err := rank.Readings(q, []net.Candidate{candidate(t, q, first, 0.4), candidate(t, q, second, 0.4)}, func(sql string) (rank.Result, bool, error) {
			return rank.Result{Key: sql, Rows: 1}, true, nil
		})
		if err != nil || len(readings) != 2 {
			t.Fatalf("%s: %d readings, %v", question, len(readings), err)
		}
		if got := ir.Text(readings[0].Tokens); strings.Contains(got, "nth") != (want == second) {
			t.Errorf("%s is read as %s", question, got)
		}
	}
}

// TestReadings looks at how readings are pooled, dropped and compared.
func TestReadings(t *testing.T) {
	t.Parallel()
	q := ask("how many customers are from Hamburg")
	count, all, city, same, wrong := "select count * from customers where customers.city = 'Hamburg'", "select count * from customers",
		"select count customers.city where customers.city = 'Hamburg'", "select count * from customers where customers.city = customers.city", "select max customers.name"
	readings, err := rank.Readings(q, []net.Candidate{
		candidate(t, q, all, 0.3), candidate(t, q, count, 0.25), candidate(t, q, city, 0.2), candidate(t, q, same, 0.1), candidate(t, q, wrong, 0.1),
	}, func(sql string) (rank.Result, bool, error) {
		switch {
		case strings.Contains(sql, "max("):
			return rank.Result{}, false, nil
		case strings.Contains(sql, "Hamburg"):
			return rank.Result{Key: "3", Rows: 1}, true, nil
		}
		return rank.Result{Key: "9", Rows: 1}, true, nil
	})
	if err != nil || len(readings) != 2 {
		t.Fatalf("%d readings, %v", len(readings), err)
	}
	if best := readings[0]; best.Key != "3" || math.Abs(best.Probability-0.45) > 1e-9 || best.Share <= readings[1].Share {
		t.Errorf("best is %s with probability %.2f, share %.2f", best.SQL, best.Probability, best.Share)
	}
	if sum := readings[0].Share + readings[1].Share; math.Abs(sum-1) > 1e-9 {
		t.Errorf("shares add up to %f", sum)
	}
	for _, r := range readings {
		if r.Confidence <= 0 || r.Confidence >= 1 {
			t.Errorf("confidence %f", r.Confidence)
		}
	}
	if readings[1].Confidence >= readings[0].Confidence {
		t.Errorf("a query that leaves Hamburg out has confidence %.2f, the other %.2f", readings[1].Confidence, readings[0].Confidence)
	}
}

// TestOrderOfColumns looks at queries that differ in the order of their columns: they are one
// reading without results, unless other rows come first or are compared.
func TestOrderOfColumns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		first, second string
		want          int
	}{
		{"select customers.city count * group customers.city", "select count * customers.city group customers.city", 1},
		{"select customers.city count * group customers.city order count * desc limit k3", "select count * customers.city group customers.city order count * desc limit k3", 1},
		{"select customers.city count * max customers.signed_up_on group customers.city limit k3", "select customers.city max customers.signed_up_on count * group customers.city limit k3", 2},
		{"select customers.city customers.name except select customers.city customers.name where customers.newsletter = true", "select customers.name customers.city except select customers.city customers.name where customers.newsletter = true", 2},
	} {
		q := ask("how many customers are there for each city")
		runs := 0
		readings, err := rank.Readings(q, []net.Candidate{candidate(t, q, test.first, 0.5), candidate(t, q, test.second, 0.4)}, func(sql string) (rank.Result, bool, error) {
			runs++
			return rank.Result{Key: sql}, true, nil
		})
		if err != nil || len(readings) != test.want || runs != test.want || test.want == 1 && math.Abs(readings[0].Probability-0.9) > 1e-9 {
			t.Errorf("%s: %d readings, %d runs, %v", test.second, len(readings), runs, err)
		}
	}
}

// TestContradictions looks at conditions that no row can meet together.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]int{
		"select count * from customers where customers.city = 'Hamburg' and customers.city = 'Berlin'": 0,
		"select count * from customers where customers.city = 'Hamburg' or customers.city = 'Berlin'":  1,
		"select count * from orders where orders.ordered_at = '2024' and orders.ordered_at = '2025'":   0,
		"select count * from customers where customers.city = 'Berlin' or customers.city = 'Berlin'":   0,
		"select count * from orders where orders.amount >= '10' or orders.amount = '30'":               0,
		"select count * from orders where orders.amount = '10' or orders.amount > '30'":                1,
		"select sum orders.customer_id":                                    0,
		"select count distinct customers.newsletter":                       0,
		"select customers.name order avg order_items.order_id desc":        0,
		"select orders.status order orders.amount over orders.amount desc": 0,
	} {
		q := ask("how many customers in Hamburg and Berlin, or orders in 2024 and 2025, over 10 or 30")
		readings, err := rank.Readings(q, []net.Candidate{candidate(t, q, query, 0.9)}, func(sql string) (rank.Result, bool, error) {
			return rank.Result{Key: sql, Rows: 1}, true, nil
		})
		if err != nil || len(readings) != want {
			t.Errorf("%s: %d readings, %v", query, len(readings), err)
		}
	}
}

// TestJoinPaths joins by the column that the question names, of two that refer to one table.
func TestJoinPaths(t *testing.T) {
	t.Parallel()
	ids := []string{"1", "2", "3"}
	key := func(name string) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: "BIGINT", Values: ids, Complete: true, Distinct: 3, Filled: 3}
	}
	cat := catalog.New([]*catalog.Profile{
		{Name: "airports", Rows: 3, Columns: []catalog.ColumnProfile{key("airport_id"), {Name: "town", Type: "VARCHAR", Values: []string{"Bern", "Oslo", "Rome"}, Complete: true, Distinct: 3, Filled: 3}}},
		{Name: "flights", Rows: 3, Columns: []catalog.ColumnProfile{key("flight_id"), key("departure_airport_id"), key("arrival_airport_id")}},
	}, nil)
	for question, want := range map[string]string{
		"How many flights have their departure in Oslo?": "departure_airport_id",
		"How many flights have their arrival in Oslo?":   "arrival_airport_id",
		"How many flights are there in Oslo?":            "departure_airport_id arrival_airport_id",
		"How many flights are there from Oslo?":          "departure_airport_id",
	} {
		tokens := link.Tokenize(question)
		q := rank.Question{Tokens: tokens, Input: link.New(tokens, cat, link.Values(tokens, cat, now), nil, nil), Catalog: cat, Now: now}
		readings, err := rank.Readings(q, []net.Candidate{candidate(t, q, "select count * from flights where airports.town = 'Oslo'", 0.9)}, func(sql string) (rank.Result, bool, error) {
			return rank.Result{Key: "the same", Rows: 1}, true, nil
		})
		columns := strings.Fields(want)
		if err != nil || len(readings) != len(columns) {
			t.Fatalf("%s: %+v, %v", question, readings, err)
		}
		for i, column := range columns {
			if !strings.Contains(readings[i].SQL, column) {
				t.Errorf("%s: %s", question, readings[i].SQL)
			}
		}
	}
}

// TestUnits reads the unit of a column, and no other.
func TestUnits(t *testing.T) {
	t.Parallel()
	cat := catalog.New([]*catalog.Profile{{Name: "tanks", Rows: 2, Columns: []catalog.ColumnProfile{{Name: "volume_l", Type: "DOUBLE", Values: []string{"5", "9"}, Complete: true, Distinct: 2, Filled: 2}}}}, nil)
	for question, unread := range map[string]string{"average volume in litres": "", "average volume in kilograms": "kilograms"} {
		tokens := link.Tokenize(question)
		q := rank.Question{Tokens: tokens, Input: link.New(tokens, cat, link.Values(tokens, cat, now), nil, nil), Catalog: cat, Now: now}
		readings, err := rank.Readings(q, []net.Candidate{candidate(t, q, "select avg tanks.volume_l", 0.9)}, func(sql string) (rank.Result, bool, error) {
			return rank.Result{Key: sql, Rows: 1}, true, nil
		})
		if err != nil || len(readings) != 1 || strings.Join(readings[0].Unread, " ") != unread {
			t.Errorf("%s: %+v, %v", question, readings, err)
		}
	}
}
