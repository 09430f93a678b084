package rules

import (
	"strings"
	"testing"

	"parley/llm"
)

// TestLoneTables asks tables that stand by themselves, with typed columns.
func TestLoneTables(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	readings := []llm.Dataset{d.table(t, "readings", `sensor VARCHAR, room VARCHAR, temperature DOUBLE, humidity BIGINT, measured_at TIMESTAMP`,
		`('S1','Kitchen',21.5,40,'2024-01-01 08:00:00'),('S1','Kitchen',23.0,42,'2024-01-02 08:00:00'),('S2','Cellar',12.0,70,'2024-01-01 09:00:00'),
		 ('S2','Cellar',11.0,75,'2024-02-01 09:00:00'),('S3','Attic',28.5,30,'2024-02-03 10:00:00')`)}
	sales := []llm.Dataset{d.table(t, "sales", `product VARCHAR, region VARCHAR, quantity BIGINT, price DOUBLE, sold_on DATE`,
		`('Pen','North',10,1.5,'2023-05-01'),('Pen','South',4,1.6,'2023-06-01'),('Lamp','North',2,30,'2023-06-15'),('Desk','South',1,120,'2024-01-10'),('Lamp','West',3,28,'2024-02-20')`)}
	staff := []llm.Dataset{d.table(t, "employees", `name VARCHAR, department VARCHAR, salary BIGINT, hired DATE, manager VARCHAR`,
		`('Ann','IT',5000,'2015-01-01','Dora'),('Bob','IT',4500,'2019-03-01','Ann'),('Cid','Sales',3900,'2021-07-15','Dora'),('Dora','Board',9000,'2010-02-02',NULL)`)}
	for _, test := range []struct {
		datasets       []llm.Dataset
		question, want string
	}{
		{readings, "What is the average temperature?", "19.2"},
		{readings, "What is the average temperature per room?", "Attic,28.5;Cellar,11.5;Kitchen,22.25"},
		{readings, "Which room has the highest temperature?", "Attic"},
		{readings, "What is the highest temperature in the kitchen?", "23.0"},
		{readings, "How many readings are there for sensor S2?", "2"},
		{readings, "How many readings have a humidity above 50?", "2"},
		{readings, "What was the lowest temperature in January 2024?", "12.0"},
		{readings, "List the rooms", "Attic;Cellar;Kitchen"},
		{readings, "How many different sensors are there?", "3"},
		{readings, "Show readings with temperature below 15", "S2,Cellar,12.0,70,2024-01-01 09:00:00;S2,Cellar,11.0,75,2024-02-01 09:00:00"},
		{sales, "What is the total quantity?", "20"},
		{sales, "What is the total quantity of pens?", "14"},
		{sales, "Total quantity by region", "North,12;South,5;West,3"},
		{sales, "Which region has the highest total quantity?", "North"},
		{sales, "What is the most expensive product?", "Desk"},
		{sales, "How many sales were there in 2023?", "3"},
		{sales, "How many products cost more than 20?", "3"},
		{sales, "What is the average price of lamps?", "29.0"},
		{sales, "Which products were sold in the North?", "Lamp;Pen"},
		{staff, "Who earns the most?", "Dora"},
		{staff, "Who has the highest salary?", "Dora"},
		{staff, "What is the salary of Bob?", "4500"},
		{staff, "How many employees work in IT?", "2"},
		{staff, "What is the average salary by department?", "Board,9000.0;IT,4750.0;Sales,3900.0"},
		{staff, "Who was hired first?", "Dora"},
		{staff, "Who was hired after 2018?", "Bob;Cid"},
		{staff, "Which employees earn between 4000 and 6000?", "Ann;Bob"},
		{staff, "Who is the manager of Cid?", "Dora"},
		{staff, "How much more does Ann earn than Bob?", "500"},
		{staff, "What is the difference in salary between Ann and Bob?", "500"},
		{staff, "How many employees are there in each department?", "Board,1;IT,2;Sales,1"},
		{staff, "What is the capital of France?", "error"},
		{staff, "Hello", "error"},
	} {
		got := ask(t, d, test.datasets, test.question)
		if test.want == "error" && strings.HasPrefix(got, "error: ") {
			continue
		}
		if sorted(got, test.question) != sorted(test.want, test.question) {
			t.Errorf("%s\n got %.200s\nwant %s", test.question, got, test.want)
		}
	}
}
