package link

import "strings"

// synonyms maps words of questions to texts of cells: gender codes, countries and their
// adjectives, other spellings.
var synonyms = func() map[string][]string {
	all := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(synonymList), "\n") {
		words, cells, _ := strings.Cut(line, "=")
		for _, w := range strings.Split(words, ",") {
			for _, c := range strings.Split(cells, ",") {
				all[strings.TrimSpace(w)] = append(all[strings.TrimSpace(w)], strings.TrimSpace(c))
			}
		}
	}
	return all
}()

const synonymList = `
female, females, women, woman, girls, ladies = f, female, woman, w
male, males, men, man, boys, guys, guy = m, male, man
yes = y, true, 1
no = n, false, 0
canceled = cancelled
cancelled = canceled
american, americans, united states, america, us, usa = usa, united states, us, united states of america, america
british, united kingdom, uk, britain = uk, united kingdom, gb, great britain, england
german, germans = germany, de
germany = de, deutschland
french = france, fr
france = fr
spanish = spain, es
spain = es
italian, italians = italy, it
italy = it
dutch, holland = netherlands, nl
netherlands = nl
swiss = switzerland, ch
switzerland = ch
austrian = austria, at
austria = at
polish = poland, pl
swedish = sweden, se
norwegian = norway, no
danish = denmark, dk
finnish = finland, fi
belgian = belgium, be
portuguese = portugal, pt
greek = greece
irish = ireland, ie
russian = russia
chinese = china, cn
japanese = japan, jp
korean = south korea, korea
indian = india
canadian = canada, ca
australian = australia, au
brazilian = brazil, br
mexican = mexico, mx
turkish = turkey
european = europe
asian = asia
african = africa
south american = south america
north american = north america
california = ca
new york = ny
texas = tx
florida = fl
illinois = il
washington = wa
`
