package ir_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/internal/locale"
	"parley/llm/reader/ir"
)

// wordValues are those that v0, v1 and so on stand for in TestDescribe.
func wordValues() []ir.Value {
	cat := catalogtest.Shop()
	column := func(table, name string) int { return catalogtest.Column(cat, table, name) }
	return []ir.Value{
		{Text: "web", Exact: true, Cells: map[int][]string{column("orders", "channel"): {"web"}}},
		{Kind: ir.PeriodValue, Text: "2024", From: "2024-01-01", To: "2025-01-01"},
		{Kind: ir.NumberValue, Text: "12.5"},
		{Text: "o'brien"},
		{Kind: ir.MonthValue, Text: "3"},
		{Text: "lamp", Cells: map[int][]string{column("products", "title"): {"Blue Lamp", "Green Lamp", "Old Lamp", "Red Lamp", "Tall Lamp"}}},
		{Kind: ir.PeriodValue, Text: "last quarter", From: "2025-01-01", To: "2025-04-01"},
		{Kind: ir.PeriodValue, Text: "the last 7 days", From: "2025-06-09", To: "2025-06-16"},
		{Kind: ir.WeekdayValue, Text: "7"},
		{Kind: ir.PeriodValue, Text: "March 5 2025", From: "2025-03-05", To: "2025-03-06"},
		{Kind: ir.PeriodValue, Text: "May", From: "2025-05-01", To: "2025-06-01"},
		{Kind: ir.PeriodValue, Text: "the twenties", From: "2020-01-01", To: "2030-01-01"},
		{Text: "store", Exact: true},
		{Kind: ir.QuarterValue, Text: "4"},
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	for _, test := range []struct{ query, want string }{
		{"select @customers.country avg @orders.amount where @orders.channel = v0 and @orders.ordered_at = v1 group @customers.country order avg @orders.amount desc limit k5",
			"average amount of orders with channel “web” in 2024 per country, the 5 highest"},
		// What is shown.
		{"select * from #orders", "all columns of orders"},
		{"select @customers.name @customers.city", "name and city of customers"},
		{"select @customers.name @orders.amount", "name of customers and amount of orders"},
		{"select distinct @customers.city", "different cities of customers"},
		{"select count * from #orders", "number of orders"},
		{"select count distinct @customers.city", "number of different cities of customers"},
		{"select count @orders.status", "number of orders with a known status"},
		{"select count @orders.order_id", "number of orders"},
		{"select median @orders.amount where @orders.channel = v0", "median amount of orders with channel “web”"},
		{"select min @orders.amount max @orders.amount", "lowest amount and highest amount of orders"},
		{"select min @orders.ordered_at max @customers.name", "earliest ordered at of orders and alphabetically last name of customers"},
		{"select sum @order_items.quantity times @order_items.unit_price", "total quantity times unit price of order items"},
		{"select @order_items.unit_price less @products.price", "unit price of order items minus price of products"},
		{"select max @orders.amount - min @orders.amount", "highest amount of orders minus lowest amount of orders"},
		{"select avg days @customers.signed_up_on @orders.ordered_at", "average days from signed up on of customers to ordered at of orders"},
		{"select avg age @customers.signed_up_on", "average years since signed up on of customers"},
		{"select age @customers.signed_up_on year @customers.signed_up_on rowid from #customers", "years since signed up on, year of signed up on and row number of customers"},
		{"select pct @orders.channel = v0 from #orders", "percentage of orders with channel “web”"},
		{"select pctof sum @orders.amount @orders.channel = v0", "percentage of total amount of orders that comes from those with channel “web”"},
		{"select @orders.channel share sum @orders.amount group @orders.channel", "total amount of orders as a percentage of all per channel"},
		{"select ratio count * @orders.channel = v0 vs @orders.channel = v12 from #orders", "number of orders with channel “web” divided by that with channel “store”"},
		{"select diff sum @orders.amount @orders.ordered_at = v1 vs @orders.ordered_at = v6", "total amount of orders in 2024 minus that in the first quarter of 2025"},
		{"select growth sum @orders.amount @orders.ordered_at = v1 vs @orders.ordered_at = v10", "change in percent of total amount of orders from those in 2024 to those in May 2025"},
		{"select count * if @orders.channel = v0 sum @orders.amount if @orders.channel = v12 and @orders.status = v3 from #orders", "number of orders with channel “web” and total amount of orders with channel “store” and status containing “o'brien”"},
		{"select sum @orders.amount if @orders.channel = v0 % sum @order_items.quantity", "total amount of orders with channel “web” as a percentage of total quantity of order items"},
		{"select max @orders.amount - avg @orders.amount % avg @orders.amount", "(highest amount of orders minus average amount of orders) as a percentage of average amount of orders"},
		{"select pct @orders.channel = v0 and @orders.status = v3 or @orders.status = v12 from #orders", "percentage of orders with channel “web” and status containing “o'brien” or “store”"},
		{"select diff sum @orders.amount @orders.channel = v0 and @orders.status = v3 vs @orders.channel = v12", "total amount of orders with channel “web” and status containing “o'brien” minus that with channel “store”"},
		{"select ( select sum @orders.amount ) - ( select avg @order_items.quantity )", "the total amount of orders minus the average quantity of order items"},
		{"select avg ( select count * from #orders group @orders.customer_id )", "average of (number of orders per customer id)"},
		{"select count ( select @customers.country group @customers.country having count * > k3 )", "number of results of (different countries of customers, those with number of customers above 3)"},
		{"select @customers.country group @customers.country having sum @orders.amount > ( select avg ( select sum @orders.amount group @customers.country ) )", "different countries of customers, those with total amount of orders above the average of (total amount of orders per country)"},
		{"select @orders.channel group @orders.channel having count * if @orders.status = v3 > count * if @orders.status = v12", "different channels of orders, those with number of orders with status containing “o'brien” above number of orders with status “store”"},
		{"select @order_items.item_id @order_items.quantity plus @order_items.unit_price plus @order_items.quantity of @order_items.unit_price", "item id and (quantity plus unit price plus quantity) as a percentage of unit price of order items"},
		{"select avg @order_items.quantity gap @order_items.unit_price", "average difference between quantity and unit price of order items"},
		{"select @order_items.quantity gap @order_items.unit_price", "difference between quantity and unit price of order items"},
		{"select max @orders.ordered_at - min @orders.ordered_at", "days from earliest ordered at of orders to latest ordered at of orders"},
		{"select diff max @orders.ordered_at @orders.channel = v0 vs @orders.channel = v12", "days from latest ordered at of orders with channel “store” to that with channel “web”"},
		{"select count * from #orders where @orders.status isnull", "number of orders without a known status"},
		{"select weekday @orders.ordered_at count * from #orders group weekday @orders.ordered_at order weekday @orders.ordered_at asc", "number of orders per weekday, by weekday, as in the calendar"},
		{"select sum @products.price less @order_items.unit_price times @order_items.quantity", "total (price of products minus unit price of order items) times quantity of order items"},
		{"select pct @customers.country = v3 from #orders", "percentage of orders with country containing “o'brien”"},
		{"select @orders.channel group @orders.channel having pct @orders.status = v3 > v2", "different channels of orders, those with percentage of orders with status containing “o'brien” above 12.5"},
		// Groups.
		{"select month @orders.ordered_at group month @orders.ordered_at", "different values of month of ordered at of orders"},
		{"select @customers.name @orders.amount where @orders.channel = v0", "name of customers and amount of orders, only those with channel “web”"},
		{"select month @orders.ordered_at sum @orders.amount group month @orders.ordered_at", "total amount of orders per month"},
		{"select weekday @orders.ordered_at count * from #customers group weekday @orders.ordered_at", "number of customers per weekday of ordered at"},
		{"select @orders.channel @orders.status count * from #orders", "number of orders per channel and status"},
		{"select @customers.name group @customers.customer_id order count * desc limit k1", "different names of customers for each customer id, only the one with the highest number of customers"},
		{"select @customers.country group @customers.country having count * > k3", "different countries of customers, those with number of customers above 3"},
		{"select @orders.channel @orders.status sum @orders.amount group @orders.channel @orders.status having count * >= k2 and avg @orders.amount < v2",
			"total amount of orders per channel and status, only combinations of channel and status with number of orders at least 2 and average amount of orders below 12.5"},
		{"select sum @orders.amount having count * > k3", "total amount of orders, only if there are those with number of orders above 3"},
		// Conditions.
		{"select @orders.amount where @orders.channel = v0 or @orders.channel = v12", "amount of orders with channel “web” or “store”"},
		{"select @orders.amount where @orders.channel = v0 and @orders.amount > k3 or @orders.status = v3",
			"amount of orders, only those with channel “web” and amount above 3, or with status containing “o'brien”"},
		{"select @orders.amount where @orders.channel != v0 and @orders.amount between k3 v2", "amount of orders with channel not “web” and amount from 3 to 12.5"},
		{"select @products.category where @products.title = v5", "category of products with title “Blue Lamp”, “Green Lamp”, “Old Lamp” or 2 more"},
		{"select @products.category where @products.title like v3 and @products.title likepre v0 and @products.title likesuf v3 and @products.title notlike v5",
			"category of products with title containing “o'brien”, title starting with “web”, title ending in “o'brien” and title not containing “lamp”"},
		{"select @customers.name where @customers.city isnull and @customers.country notnull", "name of customers without a known city and with a known country"},
		{"select @customers.name where @customers.newsletter = true", "name of customers with newsletter “yes”"},
		{"select @customers.name where @customers.newsletter != true", "name of customers with newsletter “no”"},
		{"select @customers.name where @orders.amount >= v2 and @orders.amount <= k10", "name of customers with amount at least 12.5 and amount at most 10"},
		{"select @products.title where @products.price < @order_items.unit_price", "title of products with price below unit price"},
		{"select @customers.name where after @customers.name v3", "name of customers right after the one with name containing “o'brien”"},
		// Time.
		{"select count * from #orders where @orders.ordered_at > v1 or @orders.ordered_at < v6", "number of orders after 2024 or before the first quarter of 2025"},
		{"select count * from #orders where @orders.ordered_at >= v7 and @orders.ordered_at <= v7", "number of orders on 9 June 2025 or later and on 15 June 2025 or earlier"},
		{"select count * from #orders where @orders.ordered_at = v7", "number of orders from 9 June 2025 to 15 June 2025"},
		{"select count * from #orders where @orders.ordered_at != v9", "number of orders not on 5 March 2025"},
		{"select count * from #orders where @orders.ordered_at between v1 v10", "number of orders from 2024 to May 2025"},
		{"select count * from #orders where @orders.ordered_at = v11 and @orders.ordered_at < today", "number of orders in the 2020s and before today"},
		{"select count * from #orders where @customers.signed_up_on = v1", "number of orders with signed up on in 2024"},
		{"select count * from #orders where monthof @orders.ordered_at = v4 and weekday @orders.ordered_at != v8", "number of orders with calendar month March and weekday not Sunday"},
		{"select count * from #orders where quarter @orders.ordered_at = v13", "number of orders with quarter 4"},
		{"select @orders.amount where days @customers.signed_up_on @orders.ordered_at > k7", "amount of orders with days from signed up on to ordered at above 7"},
		// Queries within queries.
		{"select @customers.name where @customers.customer_id notin ( select @orders.customer_id )", "name of customers without orders"},
		{"select @customers.name where @customers.customer_id in ( select @orders.customer_id where @orders.channel = v0 and @orders.ordered_at = v1 )",
			"name of customers with orders (with channel “web” in 2024)"},
		{"select @orders.channel where @orders.amount > ( select avg @orders.amount )", "channel of orders with amount above the average amount of orders"},
		{"select @orders.channel where @orders.amount = ( select max @orders.amount where @orders.channel = v0 )",
			"channel of orders with amount equal to (highest amount of orders with channel “web”)"},
		{"select @customers.name where @customers.city notin ( select @customers.city where @customers.country = v3 )",
			"name of customers with city not among (city of customers with country containing “o'brien”)"},
		{"select @customers.city union select @products.title", "city of customers; together with: title of products"},
		{"select @customers.city where @customers.country = v3 intersect select @customers.city", "city of customers with country containing “o'brien”; but only what is also among: city of customers"},
		{"select @customers.city except select @customers.city where @customers.country = v3", "city of customers; but without: city of customers with country containing “o'brien”"},
		// Order and limit.
		{"select @customers.name order @customers.signed_up_on desc limit k1", "name of customers, only the one with the latest signed up on"},
		{"select @products.title order @products.category asc @products.price desc", "title of products, by category, A to Z, then by price, highest first"},
		{"select @products.title order rowid desc limit k3", "title of products, from the end of the table, the first 3"},
		{"select @orders.channel @orders.order_id order @orders.amount desc limit k2 each @orders.channel", "channel and order id of orders, the 2 with the highest amount for each channel"},
		{"select @customers.name order @customers.signed_up_on asc limit k1 nth k2", "name of customers, by signed up on, earliest first, only the second"},
		{"select @customers.name order @customers.signed_up_on asc limit k3 nth k10", "name of customers, by signed up on, earliest first, the tenth to the 12th"},
		{"select @orders.channel @orders.order_id order @orders.amount desc limit k1 nth k3 each @orders.channel", "channel and order id of orders, by amount, highest first, only the third for each channel"},
		// Links.
		{"select count * from #orders #products on @orders.customer_id", "number of orders, linked to products by customer id"},
		{"select @customers.name @orders.amount on @orders.customer_id", "name of customers and amount of orders, linked by customer id of orders"},
	} {
		tokens, err := ir.ParseText(expand(test.query))
		if err != nil {
			t.Fatalf("%s: %v", test.query, err)
		}
		q, err := ir.Parse(tokens, wordValues())
		if err != nil {
			t.Fatalf("%s: %v", test.query, err)
		}
		if got := ir.Describe(q, cat, locale.Numbers{}); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.query, got, test.want)
		}
	}
}

// TestDescribeNumbers checks which numbers have their thousands apart.
func TestDescribeNumbers(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	values := []ir.Value{{Kind: ir.NumberValue, Text: "12345.5"}, {Kind: ir.NumberValue, Text: "2025"}}
	for _, test := range []struct{ query, locale, want string }{
		{"select @orders.channel where @orders.amount > v0", "", "channel of orders with amount above 12,345.5"},
		{"select @orders.channel where @orders.amount > v0", "de", "channel of orders with amount above 12.345,5"},
		{"select @orders.channel where @orders.amount between v1 v0", "fr", "channel of orders with amount from 2\u202f025 to 12\u202f345,5"},
		{"select @orders.channel where @orders.order_id = v1", "de", "channel of orders with order id 2025"},
		{"select count * from #orders where year @orders.ordered_at = v1", "de", "number of orders with year 2025"},
		{"select @orders.channel group @orders.channel having count * > v1", "de", "different channels of orders, those with number of orders above 2.025"},
	} {
		tokens, err := ir.ParseText(expand(test.query))
		if err != nil {
			t.Fatalf("%s: %v", test.query, err)
		}
		q, err := ir.Parse(tokens, values)
		if err != nil {
			t.Fatalf("%s: %v", test.query, err)
		}
		if got := ir.Describe(q, cat, locale.NumbersOf(test.locale)); got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.query, got, test.want)
		}
	}
}

// TestDescribePartOfItself groups by the month of a column that is called month.
func TestDescribePartOfItself(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	cat.Columns[catalogtest.Column(cat, "customers", "signed_up_on")].Name = "Month"
	for query, want := range map[string]string{
		"select month @customers.signed_up_on count * from #orders group month @customers.signed_up_on": "number of orders per Month",
		"select year @customers.signed_up_on count * from #orders group year @customers.signed_up_on":   "number of orders per year of Month",
	} {
		tokens, err := ir.ParseText(expand(query))
		if err != nil {
			t.Fatal(err)
		}
		q, err := ir.Parse(tokens, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := ir.Describe(q, cat, locale.Numbers{}); got != want {
			t.Errorf("%s\n got %s\nwant %s", query, got, want)
		}
	}
}

// TestDescribeRandomQueries says random queries. Those that print as different SQL are, but for
// few, said in different words.
func TestDescribeRandomQueries(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	rng := rand.New(rand.NewPCG(3, 4))
	values := wordValues()[:4]
	values[1], values[3] = ir.Value{Kind: ir.NumberValue, Text: "7"}, values[1]
	strange := regexp.MustCompile(`[_=<>!]|  |\bof$|%!|\(\)|SELECT|notlike|isnull`)
	said := map[string]string{}
	printed, same := 0, 0
	for range 8_000 {
		tokens, ok := write(rng, 60)
		if !ok {
			continue
		}
		q, err := ir.Parse(tokens, values)
		if err != nil {
			continue
		}
		words := ir.Describe(q, cat, locale.Numbers{})
		if words == "" || strange.MatchString(words) || strings.HasPrefix(words, ",") {
			t.Fatalf("%s is said as %q", ir.Text(tokens), words)
		}
		sql, err := ir.SQL(q, cat, now)
		if err != nil {
			continue
		}
		printed++
		if other, ok := said[words]; ok && other != sql {
			same++
			if same < 5 {
				t.Logf("%s\n  %s\n  %s", words, other, sql)
			}
		}
		said[words] = sql
	}
	if printed < 50 || same*50 > printed {
		t.Errorf("of %d queries %d are said in the words of another", printed, same)
	}
	t.Logf("of %d queries %d are said in the words of another", printed, same)
}
