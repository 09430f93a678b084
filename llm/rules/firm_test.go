package rules

import (
	"testing"

	"parley/llm"
)

// table makes a table of a test.
func (d *duck) table(tb testing.TB, name, columns, rows string) llm.Dataset {
	tb.Helper()
	for _, statement := range []string{"CREATE TABLE " + ident(name) + " (" + columns + ")", "INSERT INTO " + ident(name) + " VALUES " + rows} {
		if _, err := d.db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	return d.describe(tb, name)
}

func TestFirm(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{
		d.table(t, "Departments", `DeptCode VARCHAR, DeptName VARCHAR, Budget DOUBLE, Floor BIGINT`,
			`('HR','Human Resources',100000,1),('IT','Information Technology',500000,3),('SA','Sales',300000,2),('LG','Legal',150000,4)`),
		d.table(t, "Staff", `StaffID BIGINT, FullName VARCHAR, DeptCode VARCHAR, Salary DOUBLE, HireDate DATE, Gender VARCHAR, Birthplace VARCHAR`,
			`(1,'Ann Olsen','IT',5200,'2015-04-01','F','Oslo'),(2,'Bo Falk','IT',6100,'2012-09-15','M','Lund'),(3,'Carl Ruud','SA',4100,'2019-01-10','M','Oslo'),
			 (4,'Dina Holm','SA',4800,'2017-06-30','F','Bergen'),(5,'Emil Berg','HR',3900,'2020-02-14','M','Lund'),(6,'Fay Dahl','IT',7000,'2010-11-05','F','Oslo')`),
		d.table(t, "Projects", `ProjectID BIGINT, ProjectTitle VARCHAR, LeadID BIGINT, StartYear BIGINT, Cost DOUBLE, Status VARCHAR`,
			`(10,'Apollo',2,2019,80000,'active'),(11,'Borealis',6,2020,120000,'closed'),(12,'Cinder',6,2021,50000,'active'),(13,'Delta',4,2021,30000,'closed')`),
		d.table(t, "Works_On", `StaffID BIGINT, ProjectID BIGINT, Hours BIGINT`,
			`(1,10,120),(1,11,40),(2,10,300),(3,13,80),(4,13,60),(6,11,200),(6,12,90)`),
	}
	for _, test := range [][2]string{
		{"How many departments do we have?", "4"},
		{"Show the name and budget of every department.", "Human Resources,100000.0;Information Technology,500000.0;Legal,150000.0;Sales,300000.0"},
		{"What is the average salary of the staff?", "5183.333333333333"},
		{"What is the total salary of staff in the Sales department?", "8900.0"},
		{"Which department has the largest budget?", "Information Technology"},
		{"What are the names of departments with a budget above 200000?", "Information Technology;Sales"},
		{"How many staff work in each department? Show the department name and the count.", "1,Human Resources;3,Information Technology;2,Sales"},
		{"List the department names that have no staff.", "Legal"},
		{"What is the full name of the staff with the highest salary?", "Fay Dahl"},
		{"Give the full names of female staff.", "Ann Olsen;Dina Holm;Fay Dahl"},
		{"Show the full names of staff born in Oslo.", "Ann Olsen;Carl Ruud;Fay Dahl"},
		{"What is the birthplace of Bo Falk?", "Lund"},
		{"How many staff were hired after 2016?", "3"},
		{"What is the most common birthplace?", "Oslo"},
		{"Which birthplaces are shared by more than one staff?", "Lund;Oslo"},
		{"What are the titles of active projects?", "Apollo;Cinder"},
		{"What are the project titles and the full names of their leads?", "Apollo,Bo Falk;Borealis,Fay Dahl;Cinder,Fay Dahl;Delta,Dina Holm"},
		{"How many projects started in 2021?", "2"},
		{"What is the title of the cheapest project?", "Delta"},
		{"Which project has the highest cost?", "Borealis"},
		{"How many hours did Ann Olsen work in total?", "160"},
		{"What is the total number of hours for each project? Show the project title.", "420,Apollo;240,Borealis;90,Cinder;140,Delta"},
		{"What are the full names of staff who work on Apollo?", "Ann Olsen;Bo Falk"},
		{"What are the full names of staff who earn more than the average salary?", "Ann Olsen;Bo Falk;Fay Dahl"},
		{"What are the full names of staff whose salary is between 4000 and 5500?", "Ann Olsen;Carl Ruud;Dina Holm"},
		{"Count the number of staff whose gender is M.", "3"},
		{"List the full names and salaries of staff ordered by salary from high to low.", "Fay Dahl,7000.0;Bo Falk,6100.0;Ann Olsen,5200.0;Dina Holm,4800.0;Carl Ruud,4100.0;Emil Berg,3900.0"},
		{"What is the minimum, maximum and average cost of all projects?", "30000.0,120000.0,70000.0"},
		{"What are the top 2 most expensive projects?", "Apollo;Borealis"},
		{"Which staff do not work on any project?", "Emil Berg"},
		{"What is the average salary by gender?", "F,5666.666666666667;M,4700.0"},
		{"For each status, show the number of projects.", "active,2;closed,2"},
		{"What are the names of departments that have at least two staff?", "Information Technology;Sales"},
		{"What is the number of distinct birthplaces?", "3"},
		{"How many staff are not from Oslo?", "3"},
		{"Who is the CEO's favourite singer?", "error"},
	} {
		got := sorted(ask(t, d, datasets, test[0]), test[0])
		if want := sorted(test[1], test[0]); got != want && !(want == "error" && len(got) > 40) {
			t.Errorf("%s\n got %.300s\nwant %s", test[0], got, want)
		}
	}
}

func TestWebTable(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{d.table(t, "t", `"#" BIGINT, "Rider" VARCHAR, "Nation" VARCHAR, "Team" VARCHAR, "Date" VARCHAR, "Time" VARCHAR, "Points" VARCHAR, "Prize ($)" VARCHAR`,
		`(1,'Uli Kern','Austria','Red Wheels','12 March 1999','4:05','1,250','$5,000'),(2,'Ivo Pavlik','Croatia','Blue Arrows','3 May 1999','4:11','980','$3,000'),
		 (3,'Tom Hale','Canada','Red Wheels','21 June 2000','4:02','870','$2,500'),(4,'Jan Mraz','Croatia','Green Hill','9 July 2001','4:20','455','$1,000'),
		 (5,'Leo Brandt','Austria','Green Hill','15 August 2001','4:18','300','$500')`)}
	for _, test := range [][2]string{
		{"how many riders are from croatia?", "2"},
		{"which rider had the most points?", "Uli Kern"},
		{"who was listed after tom hale?", "Jan Mraz"},
		{"who came before ivo pavlik?", "Uli Kern"},
		{"what is the last rider listed?", "Leo Brandt"},
		{"who was the first rider from croatia?", "Ivo Pavlik"},
		{"how many points did tom hale have?", "870"},
		{"what is the difference in points between uli kern and tom hale?", "380.0"},
		{"how many more points did uli kern have than leo brandt?", "950.0"},
		{"who had more points, jan mraz or leo brandt?", "Jan Mraz"},
		{"which team is listed for uli kern?", "Red Wheels"},
		{"how many riders had at least 500 points?", "3"},
		{"which team did jan mraz ride for?", "Green Hill"},
		{"what was the time of ivo pavlik?", "4:11"},
		{"who had the fastest time?", "Tom Hale"},
		{"how many riders are on the same team as uli kern?", "1"},
		{"what is the total number of points of riders from austria?", "1550.0"},
		{"which rider won more than $4,000?", "Uli Kern"},
		{"how many dates were in 2001?", "2"},
		{"who rode on june 21, 2000?", "Tom Hale"},
		{"how many riders rode in july or august?", "2"},
		{"is jan mraz from croatia?", "true"},
		{"how many riders are not from austria?", "3"},
		{"which rider has the second most points?", "Ivo Pavlik"},
		{"what is the average number of points?", "771.0"},
	} {
		if got := ask(t, d, datasets, test[0]); got != test[1] {
			t.Errorf("%s\n got %.300s\nwant %s", test[0], got, test[1])
		}
	}
}
