package rules

import "strings"

// synonyms are words that stand for the same thing often enough. Words of one
// line mean each other.
var synonyms = groups(
	"country nation state nationality homeland",
	"nationality citizenship citizen",
	"team club squad side",
	"shop store",
	"maker manufacturer producer brand builder make",
	"movie film picture",
	"song track single tune title",
	"city town municipality",
	"employee worker staff personnel",
	"salary pay wage earnings income",
	"price cost fee charge amount",
	"person people human",
	"population inhabitant resident people",
	"location place venue site where city",
	"date day time when",
	"year season when date",
	"score result points",
	"rank position place pos standing finish",
	"name title called named",
	"author writer written",
	"winner champion won victor",
	"loser runner",
	"opponent rival against opponents versus",
	"attendance crowd spectators audience",
	"age old young",
	"height tall elevation high",
	"length long duration distance",
	"weight heavy weigh mass",
	"duration time length minutes",
	"speed fast quick",
	"depth deep",
	"width wide",
	"area size surface land",
	"country land",
	"phone telephone",
	"address street",
	"email mail",
	"customer client buyer",
	"student pupil",
	"teacher instructor professor",
	"company firm business corporation",
	"school university college institution",
	"car vehicle automobile",
	"ship vessel boat",
	"game match",
	"player athlete competitor",
	"driver racer",
	"rider cyclist racer",
	"type kind category sort form class genre",
	"description detail information",
	"code abbreviation symbol id",
	"id identifier",
	"leader head president chief",
	"election vote ballot",
	"medal award",
	"award prize honor",
	"episode show program",
	"show program series",
	"language tongue",
	"gender sex",
	"birth born birthday birthdate",
	"death died dead",
	"founded established built opened created formed",
	"start begin began started from",
	"end ended finish until to closed",
	"director directed",
	"writer written wrote",
	"actor star cast",
	"role character part played",
	"record record",
	"money earnings winnings purse",
	"building structure tower",
	"road route highway",
	"party affiliation",
	"spouse wife husband",
	"stadium arena venue ground",
	"position job role",
	"channel network station",
	"membership member",
	"ethnicity race",
	"worth value",
	"independence independent",
	"goal goals scored",
	"expectancy expected",
	"loan borrow",
	"rental rent",
	"booking booked",
)

func groups(lines ...string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, line := range lines {
		words := strings.Fields(line)
		for i, w := range words {
			words[i] = lemma(w)
		}
		for _, a := range words {
			for _, b := range words {
				if a == b {
					continue
				}
				if all[a] == nil {
					all[a] = map[string]bool{}
				}
				all[a][b] = true
			}
		}
	}
	return all
}

// shortForms are how names of columns shorten words.
var shortForms = map[string]string{
	"no": "number", "num": "number", "nbr": "number", "nr": "number", "qty": "quantity", "amt": "amount", "avg": "average",
	"pos": "position", "dept": "department", "dest": "destination", "src": "source", "addr": "address", "tel": "telephone",
	"desc": "description", "lat": "latitude", "lng": "longitude", "lon": "longitude", "pop": "population", "pct": "percentage",
	"perc": "percentage", "dob": "birth", "abbrev": "abbreviation", "max": "maximum",
	"min": "minimum", "pts": "points", "nat": "nationality", "mfr": "manufacturer", "yr": "year", "sec": "second", "attn": "attendance",
	"ppl": "people", "emp": "employee", "cust": "customer", "prod": "product", "std": "standard", "temp": "temperature",
	"kg": "kilogram", "kilo": "kilogram", "km": "kilometer",
}
