package dialog

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

// otherLanguage is a language that the reader recognizes and refuses.
type otherLanguage struct {
	code string
	// startWords are words that only a question in the language starts with, questionWords
	// its other question words, and commonWords its common words. All are folded.
	startWords, questionWords, commonWords map[string]bool
	refusal                                string
}

var otherLanguages = []otherLanguage{
	{
		code:          "de",
		startWords:    catalog.WordSet("wieviel wieviele welche welcher welches welchen welchem wessen warum weshalb zeige nenne gibt bitte anzahl summe durchschnitt umsatz"),
		questionWords: catalog.WordSet("wie wer wem wann wo woher zeig gib kostet kosten durchschnittlich durchschnittliche gesamt"),
		commonWords: catalog.WordSet(`die hat der das den dem des ein eine einen einem einer und oder ist sind wurde wurden wird werden haben hatte hatten gibt es im am vom zum zur aus
			von mit nach bei fur pro je jede jeder jedes jedem uber unter zwischen nicht kein keine ohne schon alle aller viele viel mehr als ich mir wir uns sich seit wenn auf`),
		refusal: "Fragen werden hier nur auf Englisch verstanden. Bitte auf Englisch fragen; mit einem Sprachmodell (Einstellung --llm oder PARLEY_LLM) geht es in jeder Sprache.",
	},
	{
		code:          "fr",
		startWords:    catalog.WordSet("combien quel quelle quels quelles lequel laquelle pourquoi montrez affiche affichez donnez listez nombre"),
		questionWords: catalog.WordSet("qui quand comment montre donne liste ou coute moyen moyenne"),
		commonWords: catalog.WordSet(`le la les un une des du de et est sont etait dans pour par avec sans sur sous chez aux au en entre plus moins que quoi nous vous ils elles leur
			leurs ont il y ce cette ces chaque tous toutes tout ete avons depuis pas ne`),
		refusal: "Ici, les questions ne sont comprises qu’en anglais. Posez-la en anglais ; avec un modèle de langage (paramètre --llm ou PARLEY_LLM), toutes les langues conviennent.",
	},
	{
		code:          "es",
		startWords:    catalog.WordSet("¿ cuantos cuantas cuanto cuanta cuales quienes muestra muestrame enumera promedio"),
		questionWords: catalog.WordSet("cual quien cuando donde como muestre dame lista hay cuesta numero medio ventas"),
		commonWords: catalog.WordSet(`el la los las un una unos unas del de y es son fue fueron esta estan hay en por para con sin sobre entre mas menos que se su sus nuestro nuestros
			cada todos todas todo han tiene tienen al desde no le les`),
		refusal: "Aquí las preguntas solo se entienden en inglés. Pregunte en inglés; con un modelo de lenguaje (opción --llm o PARLEY_LLM) sirve cualquier idioma.",
	},
	{
		code:          "it",
		startWords:    catalog.WordSet("quanti quante quali perche mostrami elenca dammi"),
		questionWords: catalog.WordSet("quanto quanta quale chi quando dove mostra costa numero medio vendite"),
		commonWords: catalog.WordSet(`il lo la gli le un una uno del dell dello della dei degli delle di e sono stato stati stata state era erano nel nello nella nei negli nelle con senza su
			sul sulla tra fra piu meno che si ogni tutti tutte tutto hanno ha ci da dal dalla dai per al alla ai alle`),
		refusal: "Qui le domande si capiscono solo in inglese. Fai la domanda in inglese; con un modello linguistico (opzione --llm o PARLEY_LLM) va bene ogni lingua.",
	},
}

var (
	// english are words of English questions only.
	english = catalog.WordSet(`the of how many much what which who whom whose where when why are there does did do has have had with and by to is was were than from that each
		every between most least more fewer average number show list give find me it its their them they this these those not without per`)
	// nameParticles connect the words of a name in one of the languages.
	nameParticles = catalog.WordSet("de la del della delle dello di da du des von van der den y e et und le les los las el al do dos zu the of and")
)

// Language returns the language of a question: "de", "fr", "es" or "it"; "" for English and
// if unknown. Names and quoted texts do not count.
func Language(tokens []link.Token) string {
	words := proseWords(tokens)
	own := 0
	for _, t := range words {
		if english[t.Lower] && !ambiguous[t.Lower] {
			own++
		}
	}
	best, most, second := "", 0, 0
	for _, f := range otherLanguages {
		score := f.score(words)
		switch {
		case score > most:
			best, most, second = f.code, score, most
		case score > second:
			second = score
		}
	}
	if most == second || 3*own > most {
		return ""
	}
	return best
}

// ambiguous are English words that other languages have too.
var ambiguous = catalog.WordSet("was do me it has per is am list")

// score counts the words of a language; 0 if there are too few.
func (f *otherLanguage) score(words []link.Token) int {
	asked, found := false, map[string]bool{}
	for _, t := range words {
		asks := f.startWords[t.Lower] || f.questionWords[t.Lower]
		asked = asked || asks
		if asks || f.commonWords[t.Lower] {
			found[t.Lower] = true
		}
	}
	n := len(found)
	if n > 0 && f.startWords[words[0].Lower] || asked && n >= 2 && 4*n >= len(words) || n >= 3 && 3*n >= len(words) {
		return n
	}
	return 0
}

// proseWords returns the words of a question without quoted texts and names, and the
// Spanish opening question mark.
func proseWords(tokens []link.Token) []link.Token {
	var words []link.Token
	quoted := ""
	for i, t := range tokens {
		switch {
		case t.Text == `"` || t.Text == "'" && !isInsideWord(tokens, i):
			if quoted == "" && hasClosingMark(tokens[i+1:], t.Text) {
				quoted = t.Text
			} else if quoted == t.Text {
				quoted = ""
			}
		case quoted == "" && t.Text == "¿":
			words = append(words, t)
		case quoted == "" && isWord(t) && !partOfName(tokens, i):
			words = append(words, t)
		}
	}
	return words
}

// isInsideWord reports whether a mark is directly between two tokens: l'anno.
func isInsideWord(tokens []link.Token, i int) bool {
	return i > 0 && i+1 < len(tokens) && !tokens[i].SpaceBefore && !tokens[i+1].SpaceBefore
}

func hasClosingMark(rest []link.Token, mark string) bool {
	return slices.ContainsFunc(rest, func(t link.Token) bool { return t.Text == mark })
}

// partOfName reports whether a word is capitalized and not the first, or a particle within
// a name: Amor de Dios.
func partOfName(tokens []link.Token, i int) bool {
	if isCapitalized(tokens[i]) {
		return len(wordsOf(tokens[:i])) > 0
	}
	if !nameParticles[tokens[i].Lower] {
		return false
	}
	before, after := i-1, i+1
	for before >= 0 && nameParticles[tokens[before].Lower] && !isCapitalized(tokens[before]) {
		before--
	}
	for after < len(tokens) && nameParticles[tokens[after].Lower] && !isCapitalized(tokens[after]) {
		after++
	}
	return before >= 0 && after < len(tokens) && isCapitalized(tokens[before]) && isCapitalized(tokens[after])
}

// isCapitalized reports whether a word starts with an upper-case letter.
func isCapitalized(t link.Token) bool {
	r, _ := utf8.DecodeRuneInString(t.Text)
	return unicode.IsUpper(r)
}

// OtherLanguage refuses a question in another language than English, in that language:
// one of those of [Language].
func OtherLanguage(code string) error {
	for _, f := range otherLanguages {
		if f.code == code {
			return llm.Unanswerable("%s", f.refusal)
		}
	}
	return llm.Unanswerable("Questions are understood in English only. Ask in English; with a language model (setting --llm or PARLEY_LLM) any language will do.")
}
