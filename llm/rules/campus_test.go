package rules

import (
	"testing"

	"parley/llm"
)

func TestCampus(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{
		d.table(t, "Pupil", `PupID BIGINT, LName VARCHAR, Fname VARCHAR, Age BIGINT, Sex VARCHAR, Subject VARCHAR, town_code VARCHAR`,
			`(1,'Berg','Mara',18,'F','Biology','NOR'),(2,'Lund','Ines',19,'F','Physics','SUD'),(3,'Falk','Olga',21,'F','Biology','OST'),
			 (4,'Rao','Tomas',20,'M','Physics','MIT'),(5,'Weiss','Hugo',26,'M','History','WES'),(6,'Moreau','Felix',18,'M','Biology','NOR')`),
		d.table(t, "Club", `ClubID BIGINT, ClubName VARCHAR, ClubRoom VARCHAR, Fee DOUBLE`,
			`(10,'Chess','A1',5),(11,'Rowing','B2',20),(12,'Drama','A3',10),(13,'Robotics','C4',15)`),
		d.table(t, "Member_of_club", `PupID BIGINT, ClubID BIGINT, Position VARCHAR`,
			`(1,10,'President'),(1,12,'Member'),(2,10,'Member'),(3,11,'Captain'),(4,10,'Treasurer'),(4,11,'Member'),(4,12,'Director')`),
		d.table(t, "Radio_Station", `id BIGINT, station_name VARCHAR, Country VARCHAR, Language VARCHAR, Format VARCHAR`,
			`(700,'Radio Alto','Italy','Italian','music'),(701,'Alto Due','Italy','Italian','music'),(702,'Welle Nord','Germany','German','news'),(703,'Fala','Poland','English','music')`),
	}
	for _, test := range [][2]string{
		{"How many pupils are there?", "6"},
		{"How many pupils are older than 19?", "3"},
		{"Find the first name and age of pupils who are in a club.", "Mara,18;Ines,19;Olga,21;Tomas,20"},
		{"Find the first names of pupils who are not in any club.", "Felix;Hugo"},
		{"What is the average age of female pupils?", "19.333333333333332"},
		{"What are the different subjects?", "Biology;History;Physics"},
		{"Find the subject and age of pupils whose last name is Lund.", "Physics,19"},
		{"How many pupils are in the Chess club?", "3"},
		{"What are the first names of the members of the Drama club?", "Tomas;Mara"},
		{"Which subject has the most pupils?", "Biology"},
		{"How many pupils are there in each subject?", "Biology,3;History,1;Physics,2"},
		{"Show the names of clubs and the number of pupils in each club.", "Chess,3;Drama,2;Rowing,2"},
		{"What is the name of the club with the highest fee?", "Rowing"},
		{"Find the names of clubs that have no members.", "Robotics"},
		{"What is the room of the club named 'Drama'?", "A3"},
		{"Find the last names of pupils who are in both the Chess club and the Rowing club.", "Rao"},
		{"What are the last names of pupils from NOR?", "Moreau;Berg"},
		{"What is the age of the oldest pupil?", "26"},
		{"What is the first name of the youngest pupil?", "Mara"},
		{"What are the names of clubs with a fee between 8 and 16?", "Drama;Robotics"},
		{"List the first names of all pupils in alphabetical order.", "Felix;Tomas;Mara;Hugo;Olga;Ines"},
		{"List the names of clubs ordered by fee in descending order.", "Rowing;Robotics;Drama;Chess"},
		{"How many stations are there in Italy?", "2"},
		{"What are the languages of stations from Germany?", "German"},
		{"Which language is used by the most stations?", "Italian"},
		{"What are the station names of stations whose format is music?", "Fala;Alto Due;Radio Alto"},
		{"Count the number of stations whose station name contains the word 'Alto'.", "2"},
		{"What are the countries that have more than one station?", "Italy"},
		{"What is the total fee of all clubs?", "50.0"},
		{"What are the id and country of stations with format news?", "702,Germany"},
		{"How many distinct countries have stations?", "3"},
		{"Show the last names of pupils who hold the position of President.", "Berg"},
		{"What position does Tomas have in the Drama club?", "Director"},
		{"What is the minimum age of pupils for each subject?", "Biology,18;History,26;Physics,19"},
		{"Which pupils belong to more than 2 clubs? Give their first names.", "Tomas"},
		{"What are the names and fees of the two cheapest clubs?", "Chess,5.0;Drama,10.0"},
	} {
		got := sorted(ask(t, d, datasets, test[0]), test[0])
		if want := sorted(test[1], test[0]); got != want {
			t.Errorf("%s\n got %.200s\nwant %s", test[0], got, want)
		}
	}
}
