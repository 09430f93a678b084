package rules

import (
	"testing"

	"parley/llm"
)

func TestSeasonTable(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	datasets := []llm.Dataset{d.table(t, "t", `"Week" BIGINT, "Date" VARCHAR, "Opponent" VARCHAR, "Result" VARCHAR, "Venue" VARCHAR, "Attendance" VARCHAR`,
		`(1,'September 3, 1995','at Granite City','L 10–17','Stone Bowl','41,210'),(2,'September 10, 1995','Harbor Gulls','W 24–20','Pier Field','38,500'),
		 (3,'September 17, 1995','Pine Foxes','W 31–3','Pier Field','39,120'),(4,'October 1, 1995','at Mesa Suns','L 14–28','Dune Dome','52,003'),
		 (5,'October 8, 1995','River Otters','W 21–14','Pier Field','40,777'),(6,'October 15, 1995','at Pine Foxes','W 17–13','Timber Park','29,845')`)}
	for _, test := range [][2]string{
		{"how many weeks were there in september?", "3"},
		{"which game had the highest attendance?", "at Mesa Suns"},
		{"what was the attendance in week 4?", "52,003"},
		{"who was the opponent in week 2?", "Harbor Gulls"},
		{"how many games had an attendance of over 40,000?", "3"},
		{"what was the result against the river otters?", "W 21–14"},
		{"which opponent was played after the mesa suns?", "River Otters"},
		{"how many games were at pier field?", "3"},
		{"what is the difference in attendance between week 1 and week 2?", "2710.0"},
		{"which venue was used the most?", "Pier Field"},
		{"what was the date of the last game?", "October 15, 1995"},
		{"who was the first opponent?", "at Granite City"},
		{"what is the total attendance of the games at pier field?", "118397.0"},
		{"how many weeks are listed?", "6"},
		{"what was the lowest attendance?", "29845.0"},
		{"on which date was the attendance 39,120?", "September 17, 1995"},
		{"was the week 3 game at pier field or dune dome?", "Pier Field"},
	} {
		if got := ask(t, d, datasets, test[0]); got != test[1] {
			t.Errorf("%s\n got %.200s\nwant %s", test[0], got, test[1])
		}
	}
}
