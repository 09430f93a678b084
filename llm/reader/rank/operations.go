package rank

import (
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// operation is an operation of a query, with the words that ask for it.
type operation struct {
	name string
	// words ask for it.
	words map[string]bool
	// keywords are the keywords of the language of which one must be there.
	keywords []string
}

// operations are what questions ask for in words.
var operations = []operation{
	newOperation("average", "average averages averaged avg mean typical typically", "avg"),
	newOperation("median", "median medians", "median"),
	newOperation("share", "percent percentage percentages % share shares proportion fraction pct", "pct pctof share / over ratio growth"),
	newOperation("negation", "not never without no none nobody neither nor except excluding excludes exclude lacking lack lacks missing isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't won't can't un unpaid",
		"!= notin notlike isnull except false k0 < <= pct pctof"),
	newOperation("distinct", "different distinct unique various", "distinct group"),
	newOperation("grouping", "each per every", "group each"),
	newOperation("extreme", `most least highest lowest largest smallest biggest maximum minimum max min top bottom best worst first last latest earliest oldest
		youngest newest longest shortest cheapest fewest greatest heaviest fastest slowest recent recently dearest priciest`, "order limit max min after before each"),
	newOperation("comparison", "more less fewer greater over above under below exceed exceeds exceeding exceeded higher lower larger smaller older younger than beyond", "> < >= <= between less"),
	newOperation("count", "many count number", "count sum"),
	newOperation("order", "sort sorted order ordered alphabetical alphabetically ascending descending rank ranked ranking", "order"),
	newOperation("difference", "difference differ gap minus spread", "less - diff days"),
	newOperation("nth", "second third fourth fifth sixth seventh eighth ninth tenth 2nd 3rd 4th 5th 6th 7th 8th 9th 10th runner penultimate", "nth"),
	newOperation("arithmetic", "* + / × ÷", "times plus over / less -"),
	newOperation("total", "total totals sum altogether overall combined", "sum count"),
}

func newOperation(name, words, keywords string) operation {
	return operation{name: name, words: catalog.WordSet(words), keywords: strings.Fields(keywords)}
}

var ordinalWords = strings.Fields("second third fourth fifth sixth seventh eighth ninth tenth")

// ordinalKeyword returns the keyword for the number of an ordinal word, "" for other words.
func ordinalKeyword(word string) string {
	if i := slices.Index(ordinalWords, word); i >= 0 {
		return "k" + strconv.Itoa(i+2)
	}
	return ""
}

// doneBy reports whether a query has one of the operation's keywords.
func (o *operation) doneBy(keywords map[string]bool) bool {
	for _, w := range o.keywords {
		if keywords[w] {
			return true
		}
	}
	return false
}

// keywordsOf returns the keywords of a query.
func keywordsOf(tokens []ir.Token) map[string]bool {
	all := map[string]bool{}
	for _, t := range tokens {
		if t.Class == ir.Keyword {
			all[ir.Keywords[t.N]] = true
		}
	}
	return all
}

// operationOf returns the operation that a word asks for; "" for none.
func operationOf(word string) string {
	for i := range operations {
		if operations[i].words[word] {
			return operations[i].name
		}
	}
	return ""
}

// phrasingWords are words of the phrasing of a question, not of its subject.
var phrasingWords = catalog.WordSet(`could can would will shall should may might must let need want like know see look please thanks thank hi hello hey
		also just only still yet now then so too very quite really exactly please currently ever both either together among amongst within across during
		while after before since until till through up down out off against toward towards along via because but yes ok okay well
		data dataset table tables row rows information info list lists result results answer figure figures breakdown overview report broken split grouped group
		give gives given show shows shown return returns find found tell get gets got got display print select pull compute calculate determine identify
		provide report describe compare check count have having has had be being been am is are was were do does doing did done make makes made
		them they he she him her his hers himself themselves one ones other others another same such own what's who's how's where's that's it's there's i'm we've we're
		many much few several lot lots amount exist exists existing available present recorded registered listed belong belongs contain contains include includes including
		respectively corresponding associated related regarding concerning named called titled labelled whose whom person people someone anyone everybody everyone
		time times day days date dates year years month months week weeks quarter quarters hour hours minute minutes today yesterday
		'm 's 're 've n't vs versus etc eg ie etc. & and/or`)

// genericNouns are phrasing as well, unless a table or column has the name: items.
var genericNouns = catalog.WordSet("record records entry entries item items thing things value values detail details kind kinds sort type")
