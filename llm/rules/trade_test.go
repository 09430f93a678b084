package rules

import (
	"strings"
	"testing"

	"parley/llm"
)

// farmWorld is a DuckDB with farms that sell crops: pieces and money are told.
func farmWorld(tb testing.TB) (*duck, []llm.Dataset) {
	d := newDuck(tb)
	return d, []llm.Dataset{
		d.table(tb, "farms", `farm_id BIGINT, name VARCHAR, valley VARCHAR`,
			`(1,'Alder','East'),(2,'Birch','East'),(3,'Cedar','West'),(4,'Elm','West')`),
		d.table(tb, "crops", `crop_id BIGINT, name VARCHAR, kind VARCHAR, price DOUBLE, seed BIGINT`,
			`(1,'Red Beet','root',2,40),(2,'Sugar Beet','root',1,0),(3,'Spring Leek','leaf',3,15),(4,'Curly Kale','leaf',4,0)`),
		d.table(tb, "sales", `sale_id BIGINT, farm_id BIGINT, crop_id BIGINT, sold_on DATE, units BIGINT, turnover DOUBLE, outcome VARCHAR`,
			`(1,1,1,'2023-03-01',10,20,'delivered'),(2,1,3,'2023-05-02',30,90,'delivered'),(3,2,2,'2023-05-20',50,50,'rejected'),
			 (4,2,1,'2024-03-04',5,10,'delivered'),(5,3,3,'2024-03-05',40,120,'rejected'),(6,1,2,'2024-06-06',20,20,'delivered'),
			 (7,2,1,'2024-06-30',15,30,'delivered'),(8,3,3,'2024-07-01',10,30,'delivered')`),
	}
}

func TestTrade(t *testing.T) {
	t.Parallel()
	d, datasets := farmWorld(t)
	for question, want := range map[string]string{
		"Which valley has the highest turnover?":             "East",
		"Which farm has the lowest turnover?":                "Birch",
		"Which sale has the highest turnover?":               "5",
		"Which month had the highest turnover?":              "2023-05",
		"Which crop was sold the most?":                      "Spring Leek",
		"best selling crops":                                 "Spring Leek,80;Sugar Beet,70;Red Beet,30",
		"worst selling crop":                                 "Red Beet",
		"Which farm earned the most in 2024?":                "Cedar",
		"Who is our best farm?":                              "Cedar",
		"What is the most popular crop?":                     "Spring Leek",
		"Which crops have never been sold?":                  "Curly Kale",
		"What is our turnover?":                              "370.0",
		"What was the turnover in 2024?":                     "210.0",
		"What is the turnover of beets?":                     "130.0",
		"How many beets were sold?":                          "100",
		"How many beets were rejected?":                      "50",
		"How many units did we sell in 2023?":                "90",
		"How many different crops did we sell?":              "3",
		"How much did we earn in March 2024?":                "130.0",
		"Monthly turnover in 2023":                           "2023-03,20.0;2023-05,140.0",
		"Which crops are out of seed?":                       "Curly Kale;Sugar Beet",
		"Which crops are in seed?":                           "Red Beet;Spring Leek",
		"How many crops are out of seed?":                    "2",
		"What share of sales was rejected?":                  "25.0",
		"What percentage of sales in 2024 were rejected?":    "20.0",
		"What share of turnover comes from the West valley?": "40.54",
		"What is the rejection rate?":                        "25.0",
		"What is the rejection rate per valley?":             "East,16.67;West,50.0",
		"Which valley has the highest rejection rate?":       "West",
		"How did turnover change from 2023 to 2024?":         "2023,160.0,;2024,210.0,31.25",
		"Compare the number of sales in 2023 and 2024":       "2023,3,;2024,5,66.67",
		"Is turnover growing?":                               "2023,160.0,;2024,210.0,31.25",
		"How many farms sold more than once?":                "3",
		"Which farms sold more than twice?":                  "Alder;Birch",
		"Which farms sold more than 60 units?":               "Birch",
		"How many farms made more than 100 euros?":           "2",
		"How many farms have more than 2 sales?":             "2",
		"How many farms sold in 2024?":                       "3",
		"What was our best year?":                            "2024",
		"Which valley had the highest turnover in 2023?":     "East",
		"What is the turnover by valley in 2024?":            "East,60.0;West,150.0",
		"How many rejected sales are there per valley?":      "East,1;West,1",
		"Sales per valley in 2024":                           "East,3;West,2",
		"sales by outcome":                                   "delivered,6;rejected,2",
		"What is the average number of sales per farm?":      "2.6666666666666665",
		"What is the average sale value?":                    "46.25",
		"What was the biggest sale?":                         "5,120.0",
		"What did Cedar sell?":                               "Spring Leek",
		"Which farms sold Sugar Beet?":                       "Alder;Birch",
		"How much is Sugar Beet?":                            "1.0",
		"How many sales by outcome?":                         "delivered,6;rejected,2",
		"How many sales in 2024 by outcome?":                 "delivered,4;rejected,1",
		"What is the share of rejected sales?":               "25.0",
		"Rejection rate by kind":                             "leaf,33.33;root,20.0",
		"Which farm has the most rejected sales?":            "Cedar",
		"Which farms sold in 2023 but not in 2024?":          "",
		"Which farms sold in 2024 but not in 2023?":          "Cedar",
		"What is the average turnover per farm?":             "123.33333333333333",
		"What is the average monthly turnover?":              "74.0",
		"Which kind has the most seed?":                      "root",
		"Which crops have less than 20 pieces in seed?":      "Curly Kale;Spring Leek;Sugar Beet",
		"How are sales distributed over valleys?":            "East,6;West,2",
		"Show the number of crops for each kind":             "leaf,2;root,2",
	} {
		if got := ask(t, d, datasets, question); sorted(got, question) != sorted(want, question) {
			t.Errorf("%s\n got %.300s\nwant %s", question, got, want)
		}
	}
	for _, question := range []string{"What was the turnover last year?", "Which crops are low on seed?", "What is our profit?", "What is the value of the seed?",
		"What share of farms?", "How many crops are left?",
		"How many Sugar Beets do we have?", "What is Cedar?",
		"What did Cedar sell last year?", "How many sales are there this year?"} {
		if got := ask(t, d, datasets, question); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "You can ask") {
			t.Errorf("%s\ngot %s, want no guess", question, got)
		}
	}
}

// TestLoans asks of what happened where neither pieces nor money are told: how
// often is what counts.
func TestLoans(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{
		d.table(t, "members", `member_id BIGINT, name VARCHAR, town VARCHAR`, `(1,'Ada','Ulm'),(2,'Bo','Ulm'),(3,'Cy','Jena')`),
		d.table(t, "books", `book_id BIGINT, title VARCHAR, genre VARCHAR`, `(1,'Moss','poems'),(2,'Tides','novel'),(3,'Reeds','poems')`),
		d.table(t, "loans", `loan_id BIGINT, member_id BIGINT, book_id BIGINT, lent_on DATE, state VARCHAR`,
			`(1,1,1,'2023-01-02','returned'),(2,1,1,'2023-02-03','returned'),(3,3,1,'2024-01-01','overdue'),(4,3,3,'2024-01-09','returned'),(5,2,2,'2024-05-01','overdue')`),
	}
	for question, want := range map[string]string{
		"What is the most popular book?":                        "Moss",
		"What is the least popular genre?":                      "novel",
		"Which town has the most loans?":                        "Ulm",
		"Which genre is returned the most?":                     "poems",
		"What share of loans is overdue?":                       "40.0",
		"What is the return rate per genre?":                    "novel,0.0;poems,75.0",
		"How did the number of loans change from 2023 to 2024?": "2023,2,;2024,3,50.0",
		"How many members have more than one loan?":             "2",
		"loans by state":                                        "overdue,2;returned,3",
		"Loans per town":                                        "Jena,2;Ulm,3",
		"How many loans per month on average?":                  "1.25",
		"How many overdue loans are there?":                     "2",
		"Which members returned something?":                     "Ada;Cy",
	} {
		if got := ask(t, d, datasets, question); sorted(got, question) != sorted(want, question) {
			t.Errorf("%s\n got %.300s\nwant %s", question, got, want)
		}
	}
}

// TestOrders asks of orders, whose name is also a word for sorting.
func TestOrders(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{d.table(t, "orders", `order_id BIGINT, town VARCHAR, ordered_at TIMESTAMP, amount DOUBLE`,
		`(1,'Ulm','2023-01-02 10:00:00',10),(2,'Jena','2024-02-03 11:00:00',20),(3,'Ulm','2024-02-04 12:00:00',60)`)}
	for question, want := range map[string]string{
		"What is the average order amount?":                    "30.0",
		"What was the average order amount in 2024?":           "40.0",
		"What was the average order amount per month in 2024?": "2024-02,40.0",
		"average order amount by town":                         "Jena,20.0;Ulm,35.0",
		"List the towns of orders, order by amount":            "Ulm;Jena;Ulm",
	} {
		if got := ask(t, d, datasets, question); got != want && sorted(got, question) != sorted(want, question) {
			t.Errorf("%s\n got %.300s\nwant %s", question, got, want)
		}
	}
}

// TestExamples asks what is given as an example to those who were not understood.
func TestExamples(t *testing.T) {
	t.Parallel()
	d, datasets := farmWorld(t)
	text := examples(datasets)
	parts := strings.Split(text, "“")[1:]
	if len(parts) != 2 {
		t.Fatalf("got %s", text)
	}
	for _, part := range parts {
		question, _, _ := strings.Cut(part, "”")
		if got := ask(t, d, datasets, question); strings.HasPrefix(got, "error: ") {
			t.Errorf("%s\ngot %s", question, got)
		}
	}
}
