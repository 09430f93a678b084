package chart_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"parley/agents/chart"
)

// example is a result. Its columns are "name TYPE unit", separated by semicolons.
type example struct {
	name, question, columns string
	measure                 string
	rows                    []string
	truncated               bool
	// shows are texts of the chart: of its axes, its legend and its labels. Those after a !
	// are not there.
	shows string
}

func (e example) result() chart.Result {
	r := chart.Result{Question: e.question, Measure: e.measure, Truncated: e.truncated}
	for _, text := range strings.Split(e.columns, "; ") {
		fields := strings.Split(text, "|")
		c := chart.Column{Name: unescape(fields[0]), Type: fields[1]}
		if len(fields) > 2 {
			c.Unit = fields[2]
		}
		r.Columns = append(r.Columns, c)
	}
	for _, row := range e.rows {
		values := strings.Split(row, "|")
		var object []string
		for i, c := range r.Columns {
			key, _ := json.Marshal(c.Name)
			object = append(object, string(key)+":"+values[i])
		}
		r.Rows = append(r.Rows, json.RawMessage("{"+strings.Join(object, ",")+`,"__metadata":{"score":1.0}}`))
	}
	return r
}

// unescape reads a name that is written as in a JSON string, where it can be.
func unescape(name string) string {
	var text string
	if json.Unmarshal([]byte(`"`+name+`"`), &text) != nil {
		return name
	}
	return text
}

// times repeats a row, with its number.
func times(n int, row func(i int) string) (rows []string) {
	for i := range n {
		rows = append(rows, row(i))
	}
	return rows
}

func month(i int) string { return fmt.Sprintf(`"%d-%02d-01"`, 2024+i/12, i%12+1) }

func day(i int) string { return fmt.Sprintf(`"2025-%02d-%02d"`, i/28%12+1, i%28+1) }

var regions = []string{`"North"`, `"South"`, `"East"`, `"West"`}

var examples = append(hostile(), []example{
	{name: "bars", question: "Revenue by country", columns: "country|VARCHAR; revenue|DOUBLE|€",
		rows: []string{`"Germany"|120.5`, `"France"|980`, `"Spain"|45.25`}, shows: "Revenue by country|Country|Revenue (€)|France"},
	{name: "bars-two", question: "How many orders are there for each channel?", columns: "channel|VARCHAR; count|BIGINT", rows: []string{`"web"|10`, `"shop"|3`}, shows: "Channel|Number of orders by channel|web"},
	{name: "bars-boolean", columns: "paid|BOOLEAN; orders|BIGINT", rows: []string{`true|10`, `false|3`}, shows: "Paid|true|false"},
	{name: "bars-enum", columns: "size|ENUM('S', 'M'); orders|BIGINT", rows: []string{`"S"|10`, `"M"|3`}, shows: "Size|Orders"},
	{name: "bars-none", columns: "city|VARCHAR; orders|BIGINT", rows: []string{`"Bern"|10`, `null|3`, `"Rome"|7`}, shows: "(none)|Bern"},
	{name: "bars-missing-value", columns: "city|VARCHAR; orders|BIGINT", rows: []string{`"Bern"|10`, `"Oslo"|null`, `"Rome"|7`}, shows: "Bern|!Oslo"},
	{name: "bars-negative", columns: "account|VARCHAR; balance|DOUBLE|$", rows: []string{`"a"|-10.5`, `"b"|3`, `"c"|7`}, shows: "Balance ($)|−10"},
	{name: "bars-decimal", columns: "country|VARCHAR; sum(amount)|DECIMAL(38,2)|€", rows: []string{`"DE"|"1200.50"`, `"FR"|"980.00"`, `"ES"|"2045.25"`}, shows: "Total amount (€)|2,000"},
	{name: "bars-hugeint", columns: "country|VARCHAR; sum(n)|HUGEINT", rows: []string{`"DE"|"9007199254740993"`, `"FR"|12`}, shows: "Total n|DE"},
	{name: "bars-million", columns: "city|VARCHAR; population|INTEGER", rows: []string{`"Berlin"|3769000`, `"Hamburg"|1841000`, `"Munich"|1472000`}, shows: "Population|3M"},
	{name: "pie-share", columns: "channel|VARCHAR; share|DOUBLE", rows: []string{`"web"|0.613`, `"shop"|0.25`, `"phone"|0.137`}, shows: "web|Channel"},
	{name: "pie-percent", columns: "channel|VARCHAR; share_percent|DOUBLE|%", rows: []string{`"web"|61.3`, `"shop"|25`, `"phone"|13.7`}, shows: "web|Channel"},
	{name: "bars-shares-of-a-part", columns: "channel|VARCHAR; share|DOUBLE", rows: []string{`"web"|0.6`, `"shop"|0.2`}, shows: "60%|Share"},
	{name: "bars-seven-shares", columns: "channel|VARCHAR; share_percent|DOUBLE|%", rows: times(7, func(i int) string { return fmt.Sprintf(`"C%d"|%d`, i, []int{40, 20, 10, 10, 10, 5, 5}[i]) }), shows: "Share (%)"},
	{name: "bars-ascending", question: "Which five products are cheapest?", columns: "name|VARCHAR; price|DOUBLE|€", rows: []string{`"Cup"|3.5`, `"Plate"|5`, `"Bowl"|7`}, shows: "Price (€)|Cup"},
	{name: "bars-selected", question: "Prices of the 3 products with the highest sales", columns: "name|VARCHAR; price|DOUBLE|€; total_amount|DOUBLE|€; __x|DOUBLE", measure: "total_amount", rows: []string{`"Cup"|5|50.5|1`, `"Mug"|7|20|2`, `"Bowl"|6|10|3`}, shows: "Total amount by name|Total amount (€)|Cup|!__"},
	{name: "bars-by-id", columns: "customer_id|BIGINT; orders|BIGINT", rows: []string{`17|10`, `23|3`, `42|7`}, shows: "Customer id|17"},
	{name: "bars-with-id", columns: "customer_id|BIGINT; name|VARCHAR; orders|BIGINT", rows: []string{`17|"Ada"|10`, `23|"Bob"|3`, `42|"Eve"|7`}, shows: "Ada|!Customer id"},
	{name: "bars-top-20-other", columns: "city|VARCHAR; orders|BIGINT", rows: times(57, func(i int) string { return fmt.Sprintf(`"City %02d"|%d`, i, 500-i*7) }), shows: "Other|20 of 57|City 19|!City 20"},
	{name: "bars-top-20-average", columns: "city|VARCHAR; average_amount|DOUBLE|€", rows: times(30, func(i int) string { return fmt.Sprintf(`"City %02d"|%d.5`, i, 500-i) }), shows: "20 of 30|City 19|!City 20|!Other"},
	{name: "bars-top-20-gaps", columns: "city|VARCHAR; orders|BIGINT", rows: times(40, func(i int) string {
		if i%10 == 3 {
			return fmt.Sprintf(`"City %02d"|null`, i)
		}
		return fmt.Sprintf(`"City %02d"|%d`, i, 40-i)
	}), shows: "Other|City 00|!City 03"},
	{name: "bars-top-20-stacked", columns: "city|VARCHAR; channel|VARCHAR; orders|BIGINT", rows: times(60, func(i int) string { return fmt.Sprintf(`"City %02d"|%s|%d`, i/2, regions[i%2], 100-i) }), shows: "Other|20 of 30|North|City 19|!City 20"},
	{name: "bars-stacked", columns: "country|VARCHAR; channel|VARCHAR; revenue|DOUBLE|€", rows: times(12, func(i int) string { return fmt.Sprintf(`"Country %d"|%s|%d`, i/4, regions[i%4], 10+i) }), shows: "Country|Channel|South|Revenue (€)"},
	{name: "bars-grouped", columns: "country|VARCHAR; channel|VARCHAR; average_amount|DOUBLE|€", rows: times(6, func(i int) string { return fmt.Sprintf(`"Country %d"|%s|%d.5`, i/2, regions[i%2], 10+i) }), shows: "Average amount (€)|Channel"},
	{name: "bars-grouped-negative", columns: "country|VARCHAR; kind|VARCHAR; flow|INTEGER", rows: times(6, func(i int) string { return fmt.Sprintf(`"Country %d"|%s|%d`, i/2, regions[i%2], 10-i*5) }), shows: "Kind|Flow"},
	{name: "bars-colored", columns: "bed|VARCHAR; area_m2|DOUBLE|m²; exposure|VARCHAR", rows: []string{`"North"|6|"half shade"`, `"South"|8.5|"sunny"`, `"Wall"|3|"sunny"`}, shows: "Area (m²)|Exposure|half shade"},
	{name: "bars-series-swapped", columns: "kind|VARCHAR; city|VARCHAR; orders|BIGINT", rows: times(24, func(i int) string { return fmt.Sprintf(`%s|"City %02d"|%d`, regions[i/12], i%12, 100-i) }), shows: "City 11|Kind|North"},
	{name: "bars-many-series", columns: "a|VARCHAR; b|VARCHAR; orders|BIGINT", rows: times(180, func(i int) string { return fmt.Sprintf(`"A%02d"|"B%02d"|%d`, i/12, i%12, 1000-i*(i%12)) }), shows: "Other|9 of 12 B|B00"},
	{name: "bars-choice", question: "Orders and revenue per country", columns: "country|VARCHAR; revenue|DOUBLE|€; orders|BIGINT", rows: []string{`"DE"|120.5|3`, `"FR"|980|17`, `"ES"|45.25|2`}, shows: "Orders by country|!Revenue"},
	{name: "bars-choice-heights", columns: "country|VARCHAR; channel|VARCHAR; orders|BIGINT; average_amount|DOUBLE|€", rows: times(8, func(i int) string { return fmt.Sprintf(`"Country %d"|%s|%d|%d.25`, i/4, regions[i%4], i+1, 20-i) }), shows: "Orders|Channel"},
	{name: "bars-detail-date", question: "When did each customer order first?", columns: "name|VARCHAR; first_order|DATE; total|DOUBLE", rows: times(5, func(i int) string { return fmt.Sprintf(`"Name %d"|%s|%d`, i, day(i*3), 50-i) }), shows: "Name 4|Total by name"},

	{name: "columns-months", question: "Revenue by month", columns: "month|DATE; revenue|DOUBLE|€", rows: times(5, func(i int) string { return fmt.Sprintf(`%s|%d.5`, month(i+10), 100+i) }), shows: "Nov 2024|Mar 2025|Revenue (€)"},
	{name: "columns-six", columns: "month|TIMESTAMP; revenue|DOUBLE", rows: times(6, func(i int) string { return fmt.Sprintf(`"2025-%02d-01T00:00:00"|%d`, i+1, 100+i*i) }), shows: "Jan 2025|Jun 2025"},
	{name: "columns-years", columns: "year|BIGINT; orders|BIGINT", rows: []string{`2023|10`, `2024|30`, `2025|20`}, shows: "2023|2025|Year"},
	{name: "columns-years-text", columns: "year|VARCHAR; orders|BIGINT", rows: []string{`"2024"|10`, `"2023"|30`}, shows: "2023|Year"},
	{name: "columns-year-dates", columns: "year|DATE; orders|BIGINT", rows: []string{`"2023-01-01"|10`, `"2024-01-01"|30`}, shows: "2023|2024|!Jan"},
	{name: "columns-quarters", columns: "quarter|DATE; orders|BIGINT", rows: []string{`"2024-10-01"|10`, `"2025-01-01"|30`}, shows: "2024 Q4|2025 Q1"},
	{name: "columns-quarter-texts", columns: "quarter|VARCHAR; orders|BIGINT", rows: []string{`"2025-Q1"|10`, `"2024-Q4"|30`}, shows: "2024-Q4|2025-Q1"},
	{name: "columns-quarter-numbers", columns: "quarter|BIGINT; orders|BIGINT", rows: []string{`1|10`, `3|30`, `2|5`}, shows: "Quarter|Orders"},
	{name: "columns-days", columns: "day|DATE; orders|BIGINT", rows: times(3, func(i int) string { return fmt.Sprintf(`%s|%d`, day(i+3), 5-i) }), shows: "4 Jan 2025"},
	{name: "columns-month-text", columns: "month|VARCHAR; orders|BIGINT", rows: []string{`"2025-01"|10`, `"2024-12"|30`}, shows: "Dec 2024|Jan 2025"},
	{name: "columns-month-names", columns: "month|VARCHAR; orders|BIGINT", rows: []string{`"March"|10`, `"January"|30`, `"February"|7`}, shows: "January|March"},
	{name: "columns-no-time", columns: "month|DATE; orders|BIGINT", rows: []string{`"2025-01-01"|10`, `null|3`, `"2025-02-01"|30`}, shows: "Jan 2025|!null|!1970"},
	{name: "columns-series", columns: "year|BIGINT; channel|VARCHAR; orders|BIGINT", rows: times(6, func(i int) string { return fmt.Sprintf(`%d|%s|%d`, 2023+i/2, regions[i%2], 10+i) }), shows: "2023|Channel|South"},
	{name: "columns-equal", columns: "year|BIGINT; orders|BIGINT", rows: []string{`2023|10`, `2024|10`, `2025|10`}, shows: "2023"},
	{name: "columns-ranges", columns: "age|VARCHAR; customers|BIGINT", rows: []string{`"<20"|4`, `"20-29"|10`, `"30-39"|14`, `"40-49"|9`, `"50-59"|7`, `"60-69"|3`, `"70+"|1`}, shows: "20-29|70+|Customers"},
	{name: "columns-rating", columns: "rating|INTEGER; count|BIGINT", rows: []string{`3|40`, `1|4`, `2|10`, `5|70`, `4|90`}, shows: "Rating|Count"},
	{name: "columns-choice", columns: "year|BIGINT; orders|BIGINT; revenue|DECIMAL(18,2)|€", rows: []string{`2023|10|"12.50"`, `2024|30|"48.00"`}, shows: "Orders by year"},

	{name: "line-months", question: "How did revenue develop?", columns: "month|DATE; revenue|DOUBLE|€", rows: times(14, func(i int) string { return fmt.Sprintf(`%s|%d.5`, month(i), 100+i*i) }), shows: "Jan 2024|Revenue (€)"},
	{name: "line-days", columns: "day|DATE; orders|BIGINT", rows: times(90, func(i int) string { return fmt.Sprintf(`%s|%d`, day(i), i%7+1) }), shows: "2025|Orders"},
	{name: "line-years", columns: "year|BIGINT; population|BIGINT", rows: times(12, func(i int) string { return fmt.Sprintf(`%d|%d`, 2010+i, 8_000_000+i*12345) }), shows: "2010|2020|8M"},
	{name: "line-weekdays", columns: "weekday|VARCHAR; orders|BIGINT", rows: []string{`"Sunday"|1`, `"Monday"|5`, `"Tuesday"|6`, `"Wednesday"|7`, `"Thursday"|4`, `"Friday"|9`, `"Saturday"|2`}, shows: "Monday|Sunday"},
	{name: "line-hours", columns: "hour|BIGINT; orders|BIGINT", rows: times(24, func(i int) string { return fmt.Sprintf(`%d|%d`, i, (i*7)%24) }), shows: "Hour|Orders"},
	{name: "line-times", columns: "measured_at|TIMESTAMP; temperature|DOUBLE|°C", rows: times(20, func(i int) string { return fmt.Sprintf(`"2025-03-01T%02d:30:00"|%d.25`, i, 15+i%5) }), shows: "Temperature (°C)|1 Mar 2025"},
	{name: "line-zone", columns: "measured_at|TIMESTAMP WITH TIME ZONE; temperature|DOUBLE|°C", rows: times(20, func(i int) string { return fmt.Sprintf(`"2025-03-01T%02d:30:00Z"|%d.25`, i, 15+i%5) }), shows: "Temperature (°C)|1 Mar 2025"},
	{name: "line-series", columns: "month|DATE; channel|VARCHAR; revenue|DOUBLE|€", rows: times(24, func(i int) string { return fmt.Sprintf(`%s|%s|%d`, month(i/2), regions[i%2], 10+i) }), shows: "Channel|South|Jan 2024"},
	{name: "line-many-columns", columns: "month|DATE; city|VARCHAR; orders|BIGINT", rows: times(50, func(i int) string { return fmt.Sprintf(`%s|"City %d"|%d`, month(i/10), i%10, 10+i) }), shows: "City 9|Jan 2024"},
	{name: "line-many-series", columns: "month|DATE; city|VARCHAR; orders|BIGINT", rows: times(240, func(i int) string { return fmt.Sprintf(`%s|"City %02d"|%d`, month(i/20), i%20, 10+i%20) }), shows: "Other|9 of 20 city|City 19|!City 05"},
	{name: "line-gaps", columns: "month|DATE; revenue|DOUBLE", rows: times(9, func(i int) string {
		if i == 4 {
			return month(i) + "|null"
		}
		return fmt.Sprintf(`%s|%d`, month(i), 10+i)
	}), shows: "Revenue"},
	{name: "line-weeks", columns: "week|DATE; orders|BIGINT", rows: times(10, func(i int) string { return fmt.Sprintf(`%s|%d`, day(i*7), i+3) }), shows: "2025|Week"},
	{name: "line-week-texts", columns: "week|VARCHAR; orders|BIGINT", rows: times(10, func(i int) string { return fmt.Sprintf(`"2025-W%02d"|%d`, i+1, i+3) }), shows: "2025-W01"},
	{name: "line-truncated", columns: "day|DATE; orders|BIGINT", truncated: true, rows: times(300, func(i int) string { return fmt.Sprintf(`%s|%d`, day(i), i%7+1) }), shows: "The first 300 rows"},
	{name: "line-choice", columns: "month|DATE; revenue|DOUBLE|€; orders|BIGINT; average_amount|DOUBLE|€", rows: times(8, func(i int) string { return fmt.Sprintf(`%s|%d.5|%d|%d.75`, month(i), 100+i, i, 30+i) }), shows: "Revenue (€)"},

	{name: "points", question: "Price versus rating", columns: "rating|DOUBLE; price|DOUBLE|€", rows: times(12, func(i int) string { return fmt.Sprintf(`%d.5|%d.25`, i%5, 10+i) }), shows: "Rating|Price (€)"},
	{name: "points-named", question: "How does price relate to stock?", columns: "name|VARCHAR; category|VARCHAR; price|DOUBLE|€; stock|INTEGER", rows: times(12, func(i int) string { return fmt.Sprintf(`"Name %d"|%s|%d.25|%d`, i, regions[i%3], 10+i, 100-i*i) }), shows: "Stock|Price (€)|Category"},
	{name: "points-raw", columns: "kind|VARCHAR; length|DOUBLE|cm; weight|DOUBLE|g", rows: times(30, func(i int) string { return fmt.Sprintf(`%s|%d.5|%d.25`, regions[i%3], i%11, 10+i) }), shows: "Length (cm)|Weight (g)|Kind"},
	{name: "points-over-time", columns: "ordered_at|TIMESTAMP; amount|DOUBLE|€", rows: times(30, func(i int) string { return fmt.Sprintf(`"2025-03-%02dT10:15:00"|%d.5`, i/2+1, i*3) }), shows: "Ordered at|Amount (€)"},
	{name: "histogram", question: "Distribution of order amounts", columns: "amount|DOUBLE|€", rows: times(200, func(i int) string { return fmt.Sprintf(`%d.5`, (i*i)%97) }), shows: "Distribution of amount|Number of rows"},

	{name: "hostile-names", columns: `a.b['c']"d"\\e|VARCHAR; </script><b>.x[0]|DOUBLE`, rows: []string{`"x"|1`, `"y"|3`}, shows: "x|y|&lt;/script&gt;&lt;b&gt;.x[0]"},
	{name: "hostile-values", columns: "name|VARCHAR; n|BIGINT", rows: []string{`"</svg><script>alert(1)</script>"|1`, `"datum.x; ${y} \u0000 \\ ' \" ]"|3`, `"a\nb"|2`}, shows: "alert(1)&lt;/script"},
	{name: "hostile-expression", columns: "'] + alert(1) + datum['|VARCHAR; constructor|DOUBLE; __proto__|DOUBLE", rows: []string{`"x"|1|2`, `null|3|4`, `"z"|5|1`}, shows: "x|(none)|Constructor"},
	{name: "hostile-time", columns: `m'"].t|DATE; v.w|DECIMAL(9,2)`, rows: times(9, func(i int) string { return fmt.Sprintf(`%s|"%d.5"`, month(i), i) }), shows: "Jan 2024|V.w"},
	{name: "taken-names", columns: "label|VARCHAR; total|DECIMAL(9,2); rank|VARCHAR", rows: times(90, func(i int) string { return fmt.Sprintf(`"L%02d"|"%d.5"|%s`, i/3, 100-i, regions[i%3]) }), shows: "Other|L00|Rank"},

	{name: "none-single", columns: "count|BIGINT", rows: []string{`3`}},
	{name: "none-one-row", columns: "name|VARCHAR; total|DOUBLE", rows: []string{`"Ada"|3.5`}},
	{name: "none-names", columns: "name|VARCHAR; city|VARCHAR", rows: []string{`"Ada"|"Bern"`, `"Bob"|"Rome"`}},
	{name: "none-ids", columns: "order_id|BIGINT", rows: times(30, func(i int) string { return fmt.Sprint(i) })},
	{name: "none-many-ids", columns: "order_id|BIGINT; amount|DOUBLE", rows: times(30, func(i int) string { return fmt.Sprintf("%d|%d.5", i, i*i) })},
	{name: "none-long-texts", columns: "text|VARCHAR; n|BIGINT", rows: times(3, func(i int) string { return fmt.Sprintf(`"%s%d"|%d`, strings.Repeat("long ", 40), i, i) })},
	{name: "none-nulls", columns: "name|VARCHAR; total|DOUBLE", rows: []string{`"Ada"|null`, `"Bob"|null`}},
	{name: "none-one-value", columns: "name|VARCHAR; total|DOUBLE", rows: []string{`"Ada"|1`, `"Bob"|null`}},
	{name: "none-equal", columns: "name|VARCHAR; total|BIGINT", rows: []string{`"Ada"|1`, `"Bob"|1`, `"Eve"|1`}},
	{name: "none-infinite", columns: "name|VARCHAR; total|DOUBLE", rows: []string{`"Ada"|"Infinity"`, `"Bob"|1`}},
	{name: "none-wide", columns: "ordered_at|TIMESTAMP; channel|VARCHAR; status|VARCHAR; amount|DOUBLE", rows: times(8, func(i int) string {
		return fmt.Sprintf(`"2025-03-%02dT10:15:00"|%s|%s|%d`, i+1, regions[i%2], regions[i%3], i)
	})},
	{name: "none-repeated", columns: "city|VARCHAR; price|DOUBLE", rows: []string{`"Bern"|1`, `"Bern"|2`, `"Rome"|3`}},
	{name: "none-two-times", columns: "from|DATE; until|DATE; n|BIGINT", rows: []string{`"2025-01-01"|"2025-01-03"|1`, `"2025-02-01"|"2025-02-03"|2`}},
	{name: "none-lists", columns: "tags|VARCHAR[]; n|BIGINT", rows: []string{`["a"]|1`, `["b"]|2`}},
	{name: "none-truncated-bars", columns: "city|VARCHAR; orders|BIGINT", truncated: true, rows: times(100, func(i int) string { return fmt.Sprintf(`"City %d"|%d`, i, i) })},
	{name: "none-far-dates", columns: "day|DATE; n|BIGINT", rows: []string{`"infinity"|1`, `"12025-01-01"|2`}},
	{name: "none-places", columns: "latitude|DOUBLE; longitude|DOUBLE", rows: times(30, func(i int) string { return fmt.Sprintf("%d.5|%d.25", i, i) })},
	{name: "none-few-numbers", columns: "price|DOUBLE", rows: []string{"1", "2", "3"}},
	{name: "none-empty-names", columns: "|VARCHAR; n|BIGINT", rows: []string{`"a"|1`, `"b"|2`}},
}...)

// hostile returns results with names that mean something in paths and expressions.
func hostile() (all []example) {
	for i, name := range []string{`\\`, `'`, `\"`, `]`, `[`, `.`, `[0]`, `a.b.c`, ` `, `\u0000`, `a\\`, `'a'`, `\n`, `toString`, `valueOf`, `datum`, `${a}`, `%`, `é`, `\u2028`, `\\\", alert: 1, \"`} {
		all = append(all, example{
			name: fmt.Sprintf("hostile-name-%02d", i), columns: name + "|VARCHAR; value" + name + "|DECIMAL(9,2)",
			rows: []string{`"first"|"1.5"`, `"second"|"3"`}, shows: "first|second",
		})
	}
	return all
}
