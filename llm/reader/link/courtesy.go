package link

import (
	"strings"

	"parley/llm/reader/catalog"
)

// openings and closings are polite phrases before and after a question, without meaning for
// it.
var (
	openings = phraseList("hi there|hello there|hi|hello|hey|good morning|good afternoon|good evening|quick question|one question|one more question|another question|" +
		"i would like to know|i would like to see|i'd like to know|i'd like to see|i want to know|i wanted to know|i need to know|i was wondering|i am wondering|i'm wondering|" +
		"just wondering|wondering|do you know|do you happen to know|any idea|can you tell me|could you tell me|could you please tell me|can you please tell me|" +
		"please tell me|would you please tell me|by the way|just curious|out of curiosity|sorry|excuse me|ok|okay|so|well")
	closings = phraseList("thanks|thank you|thanks a lot|many thanks|thanks in advance|thank you very much|cheers")
)

func phraseList(list string) [][]string {
	var all [][]string
	for phrase := range strings.SplitSeq(list, "|") {
		all = append(all, strings.Fields(phrase))
	}
	return all
}

// trimCourtesy removes openings and closings from a question.
func trimCourtesy(tokens []Token) []Token {
	for {
		n := openingLength(tokens)
		if n == 0 {
			break
		}
		tokens = tokens[n:]
	}
	end := len(tokens)
	for end > 0 && !isWordRune(firstRune(tokens[end-1].Lower)) && !strings.Contains(`"'`, tokens[end-1].Text) {
		end--
	}
	for _, phrase := range closings {
		if start := end - len(phrase); start > 1 && startsWith(tokens[start:end], phrase) && isSentenceMark(tokens[start-1].Text) {
			return tokens[:start]
		}
	}
	return tokens
}

// openingLength returns the number of tokens of an opening, with its punctuation. A word
// that could begin a name, as Hi of Hi-Fi, counts only before punctuation and a blank, or
// before a question word.
func openingLength(tokens []Token) int {
	for _, phrase := range openings {
		n := len(phrase)
		if n >= len(tokens) || !startsWith(tokens[:n], phrase) {
			continue
		}
		end := n
		for end < len(tokens) && strings.Contains(",:;.!-–?", tokens[end].Text) {
			end++
		}
		marked := end > n && end < len(tokens) && tokens[end].SpaceBefore
		if end < len(tokens) && (marked || questionStarts[tokens[n].Lower] || n > 2 && end == n) {
			return end
		}
	}
	return 0
}

var questionStarts = catalog.WordSet("how what which who whom whose where when why if list show give find count tell is are was were does do did can could please the")

// isSentenceMark reports whether a token ends a sentence or a part of one. Quotation marks
// and colons do not: a value follows them.
func isSentenceMark(text string) bool {
	switch text {
	case ".", "!", "?", ",":
		return true
	}
	return false
}

func startsWith(tokens []Token, phrase []string) bool {
	for i, w := range phrase {
		if tokens[i].Lower != w {
			return false
		}
	}
	return true
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}
