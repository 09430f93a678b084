package rules

import (
	"testing"

	"parley/llm"
)

// library is an invented world of four tables.
func library(tb testing.TB) (*duck, []llm.Dataset) {
	tb.Helper()
	d := newDuck(tb)
	tables := []struct{ name, columns, rows string }{
		{"members", "member_id BIGINT, first_name VARCHAR, last_name VARCHAR, age BIGINT, city VARCHAR, joined_year BIGINT, is_student VARCHAR",
			`(1,'Ada','Moss',34,'Oslo',2012,'F'),(2,'Ben','Hall',19,'Rome',2018,'T'),(3,'Cleo','Park',51,'Oslo',2009,'F'),
			 (4,'Dan','Reed',23,'Bern',2019,'T'),(5,'Eve','Stone',42,'Rome',2015,'F'),(6,'Finn','Webb',19,'Oslo',2020,'T')`},
		{"authors", "author_id BIGINT, name VARCHAR, nationality VARCHAR, birth_year BIGINT",
			`(1,'Lena Vogt','Germany',1960),(2,'Paul Roux','France',1975),(3,'Sara Lind','Sweden',1982),(4,'Marco Bassi','Italy',1948),(5,'Anne Petit','France',1990)`},
		{"books", "book_id BIGINT, title VARCHAR, author_id BIGINT, genre VARCHAR, pages BIGINT, price DOUBLE",
			`(1,'The Quiet Harbor',1,'Novel',320,12.5),(2,'Stars and Salt',2,'Poetry',96,8.0),(3,'Winter Roads',3,'Novel',410,15.0),
			 (4,'A Short History of Bread',2,'History',250,18.0),(5,'Old Stones',4,'History',530,22.0),(6,'Blue Paper',1,'Poetry',120,9.5),(7,'The Last Ferry',3,'Crime',280,11.0)`},
		{"loans", "loan_id BIGINT, member_id BIGINT, book_id BIGINT, loan_date DATE, days BIGINT",
			`(1,1,1,'2021-03-04',14),(2,1,3,'2021-05-10',21),(3,2,2,'2022-01-15',7),(4,3,1,'2022-02-20',30),(5,3,5,'2022-03-03',12),(6,3,7,'2023-07-08',9),(7,5,3,'2023-08-01',28)`},
	}
	var datasets []llm.Dataset
	for _, t := range tables {
		for _, statement := range []string{"CREATE TABLE " + t.name + " (" + t.columns + ")", "INSERT INTO " + t.name + " VALUES " + t.rows} {
			if _, err := d.db.Exec(statement); err != nil {
				tb.Fatal(err)
			}
		}
		datasets = append(datasets, d.describe(tb, t.name))
	}
	return d, datasets
}

// describe makes a dataset of a table.
func (d *duck) describe(tb testing.TB, name string) llm.Dataset {
	tb.Helper()
	dataset := llm.Dataset{Name: name, Version: "1"}
	rows, err := d.db.Query("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", name)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c llm.Column
		if err := rows.Scan(&c.Name, &c.Type); err != nil {
			tb.Fatal(err)
		}
		dataset.Columns = append(dataset.Columns, c)
	}
	return dataset
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	d, datasets := library(t)
	for _, test := range [][2]string{
		{"How many books are there?", "7"},
		{"What are the titles of all books?", "The Quiet Harbor;Stars and Salt;Winter Roads;A Short History of Bread;Old Stones;Blue Paper;The Last Ferry"},
		{"List the title and price of books with more than 300 pages.", "The Quiet Harbor,12.5;Winter Roads,15.0;Old Stones,22.0"},
		{"What is the average price of books for each genre?", "Crime,11.0;History,20.0;Novel,13.75;Poetry,8.75"},
		{"How many books are in each genre?", "Crime,1;History,2;Novel,2;Poetry,2"},
		{"Find the title of the most expensive book.", "Old Stones"},
		{"What is the title of the longest book?", "Old Stones"},
		{"Show the names of authors from France.", "Paul Roux;Anne Petit"},
		{"Show the names of French authors.", "Paul Roux;Anne Petit"},
		{"Which authors were born before 1970?", "Lena Vogt;Marco Bassi"},
		{"What are the names of authors who have not written any books?", "Anne Petit"},
		{"What are the names of authors without books?", "Anne Petit"},
		{"List the names of authors with at least 2 books.", "Lena Vogt;Paul Roux;Sara Lind"},
		{"What are the titles of books written by Paul Roux?", "Stars and Salt;A Short History of Bread"},
		{"How many books did Sara Lind write?", "2"},
		{"Show the first name and last name of members older than 40.", "Cleo,Park;Eve,Stone"},
		{"What is the average age of members who live in Oslo?", "34.666666666666664"},
		{"How many members are students?", "3"},
		{"What are the first names of members who are not students?", "Ada;Cleo;Eve"},
		{"What is the maximum and minimum price of novels?", "15.0,12.5"},
		{"List the first names of members in descending order of age.", "Cleo;Eve;Ada;Dan;Ben;Finn"},
		{"What are the distinct cities of members?", "Bern;Oslo;Rome"},
		{"How many different cities do members live in?", "3"},
		{"Which members have never borrowed a book? Give their last names.", "Reed;Webb"},
		{"What are the last names of members without any loans?", "Reed;Webb"},
		{"Which member has the most loans? Show the first name.", "Cleo"},
		{"How many loans does each member have? Show the first name.", "2,Ada;1,Ben;3,Cleo;1,Eve"},
		{"What is the total number of days of all loans?", "121"},
		{"How many loans were made in 2022?", "3"},
		{"What are the titles of books that were borrowed by Cleo?", "The Quiet Harbor;Old Stones;The Last Ferry"},
		{"What are the titles of books costing less than 10?", "Stars and Salt;Blue Paper"},
		{"Which books cost more than the average price?", "Winter Roads;A Short History of Bread;Old Stones"},
		{"Show the titles of the 3 cheapest books.", "Stars and Salt;Blue Paper;The Last Ferry"},
		{"What are the titles of books whose title contains the word 'Roads'?", "Winter Roads"},
		{"How many books have between 100 and 300 pages?", "3"},
		{"What are the cities with more than one member?", "Oslo;Rome"},
		{"What are the titles of books whose genre is Novel or Crime?", "The Quiet Harbor;Winter Roads;The Last Ferry"},
		{"Show the names of authors and the number of books they wrote.", "Lena Vogt,2;Marco Bassi,1;Paul Roux,2;Sara Lind,2"},
		{"For each nationality, how many authors are there?", "France,2;Germany,1;Italy,1;Sweden,1"},
		{"Which nationality has the most authors?", "France"},
		{"What is the title of the book with the fewest pages?", "Stars and Salt"},
		{"How many members joined after 2015?", "3"},
		{"What is the age of Dan Reed?", "23"},
		{"Which city does Ada Moss live in?", "Oslo"},
		{"What is the price of 'Blue Paper'?", "9.5"},
	} {
		got := sorted(ask(t, d, datasets, test[0]), test[0])
		if want := sorted(test[1], test[0]); got != want {
			t.Errorf("%s\n got %s\nwant %s", test[0], got, want)
		}
	}
}
