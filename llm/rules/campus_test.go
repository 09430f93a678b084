package rules

import (
	"testing"

	"parley/llm"
)

func TestCampus(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{
		d.table(t, "Pupil", `PupID BIGINT, LName VARCHAR, Fname VARCHAR, Age BIGINT, Sex VARCHAR, Major VARCHAR, city_code VARCHAR`,
			`(1,'Smith','Linda',18,'F','Biology','BAL'),(2,'Kim','Tracy',19,'F','Physics','HKG'),(3,'Jones','Shiela',21,'F','Biology','WAS'),
			 (4,'Kumar','Dinesh',20,'M','Physics','CHI'),(5,'Gompers','Paul',26,'M','History','YYZ'),(6,'Schultz','Andy',18,'M','Biology','BAL')`),
		d.table(t, "Club", `ClubID BIGINT, ClubName VARCHAR, ClubRoom VARCHAR, Fee DOUBLE`,
			`(10,'Chess','A1',5),(11,'Rowing','B2',20),(12,'Drama','A3',10),(13,'Robotics','C4',15)`),
		d.table(t, "Member_of_club", `PupID BIGINT, ClubID BIGINT, Position VARCHAR`,
			`(1,10,'President'),(1,12,'Member'),(2,10,'Member'),(3,11,'Captain'),(4,10,'Treasurer'),(4,11,'Member'),(4,12,'Director')`),
		d.table(t, "TV_Channel", `id BIGINT, series_name VARCHAR, Country VARCHAR, Language VARCHAR, Content VARCHAR`,
			`(700,'Sky Radio','Italy','Italian','music'),(701,'Sky Music','Italy','Italian','music'),(702,'Kino Eins','Germany','German','film'),(703,'MTV Now','Poland','English','music')`),
	}
	for _, test := range [][2]string{
		{"How many pupils are there?", "6"},
		{"How many pupils are older than 19?", "3"},
		{"Find the first name and age of pupils who are in a club.", "Linda,18;Tracy,19;Shiela,21;Dinesh,20"},
		{"Find the first names of pupils who are not in any club.", "Andy;Paul"},
		{"What is the average age of female pupils?", "19.333333333333332"},
		{"What are the different majors?", "Biology;History;Physics"},
		{"Find the major and age of pupils whose last name is Kim.", "Physics,19"},
		{"How many pupils are in the Chess club?", "3"},
		{"What are the first names of the members of the Drama club?", "Dinesh;Linda"},
		{"Which major has the most pupils?", "Biology"},
		{"How many pupils are there in each major?", "Biology,3;History,1;Physics,2"},
		{"Show the names of clubs and the number of pupils in each club.", "Chess,3;Drama,2;Rowing,2"},
		{"What is the name of the club with the highest fee?", "Rowing"},
		{"Find the names of clubs that have no members.", "Robotics"},
		{"What is the room of the club named 'Drama'?", "A3"},
		{"Find the last names of pupils who are in both the Chess club and the Rowing club.", "Kumar"},
		{"What are the last names of pupils from BAL?", "Schultz;Smith"},
		{"What is the age of the oldest pupil?", "26"},
		{"What is the first name of the youngest pupil?", "Linda"},
		{"What are the names of clubs with a fee between 8 and 16?", "Drama;Robotics"},
		{"List the first names of all pupils in alphabetical order.", "Andy;Dinesh;Linda;Paul;Shiela;Tracy"},
		{"List the names of clubs ordered by fee in descending order.", "Rowing;Robotics;Drama;Chess"},
		{"How many channels are there in Italy?", "2"},
		{"What are the languages of channels from Germany?", "German"},
		{"Which language is used by the most channels?", "Italian"},
		{"What are the series names of channels whose content is music?", "MTV Now;Sky Music;Sky Radio"},
		{"Count the number of channels whose series name contains the word 'Sky'.", "2"},
		{"What are the countries that have more than one channel?", "Italy"},
		{"What is the total fee of all clubs?", "50.0"},
		{"What are the id and country of channels with content film?", "702,Germany"},
		{"How many distinct countries have channels?", "3"},
		{"Show the last names of pupils who hold the position of President.", "Smith"},
		{"What position does Dinesh have in the Drama club?", "Director"},
		{"What is the minimum age of pupils for each major?", "Biology,18;History,26;Physics,19"},
		{"Which pupils belong to more than 2 clubs? Give their first names.", "Dinesh"},
		{"What are the names and fees of the two cheapest clubs?", "Chess,5.0;Drama,10.0"},
	} {
		got := sorted(ask(t, d, datasets, test[0]), test[0])
		if want := sorted(test[1], test[0]); got != want {
			t.Errorf("%s\n got %.200s\nwant %s", test[0], got, want)
		}
	}
}
