package ingest

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Sizes of passages. A passage ends with the paragraph that brings it to
// enoughWords. A paragraph above mostWords or mostBytes is cut at the end of a
// sentence, or else of a word.
const (
	enoughWords = 150
	mostWords   = 350
	mostBytes   = 4000
)

// splitter cuts text into passages: runs of paragraphs of a few hundred words,
// and in Markdown never across a heading. Passages in order hold all of the
// text but for blanks between them.
type splitter struct {
	markdown bool
	emit     func(passage []byte)

	passage []byte
	words   int
	// body says that the passage has more than headings.
	body  bool
	fence string
	// paragraph holds the lines since the last blank one.
	paragraph []byte
}

// line takes the next line, with its line end. The last one has none.
func (s *splitter) line(line []byte) {
	trimmed := bytes.TrimSpace(line)
	fenced := s.markdown && s.inFence(trimmed)
	switch {
	case len(trimmed) == 0 && !fenced:
		s.endParagraph()
	case s.markdown && !fenced && isHeading(trimmed):
		s.endParagraph()
		if s.body {
			s.endPassage()
		}
		s.passage = append(s.passage, line...)
		s.words += len(bytes.Fields(trimmed))
		return
	}
	s.paragraph = append(s.paragraph, line...)
	// A paragraph can be as long as the file: bound the memory.
	for len(s.paragraph) > 4*mostBytes {
		if s.body {
			s.endPassage()
		}
		s.cutOff(&s.paragraph)
	}
}

// cutOff emits the beginning of text that is too long for a passage.
func (s *splitter) cutOff(text *[]byte) {
	cut := cutPoint(*text)
	s.passage = append(s.passage, (*text)[:cut]...)
	*text = (*text)[cut:]
	s.endPassage()
}

// inFence tracks blocks of code, in which nothing is a heading.
func (s *splitter) inFence(trimmed []byte) bool {
	for _, mark := range []string{"```", "~~~"} {
		if !bytes.HasPrefix(trimmed, []byte(mark)) {
			continue
		}
		if s.fence == "" {
			s.fence = mark
			return true
		}
		if s.fence == mark {
			s.fence = ""
			return true
		}
	}
	return s.fence != ""
}

func isHeading(trimmed []byte) bool {
	level := len(trimmed) - len(bytes.TrimLeft(trimmed, "#"))
	return level >= 1 && level <= 6 && len(trimmed) > level && trimmed[level] == ' '
}

// endParagraph adds the paragraph to the passage, or cuts it into passages.
func (s *splitter) endParagraph() {
	p := s.paragraph
	s.paragraph = s.paragraph[:0]
	if len(bytes.TrimSpace(p)) == 0 {
		s.passage = append(s.passage, p...)
		return
	}
	words := len(bytes.Fields(p))
	if s.body && (s.words+words > mostWords || len(s.passage)+len(p) > mostBytes) {
		s.endPassage()
	}
	for words > mostWords || len(p) > mostBytes {
		s.cutOff(&p)
		words = len(bytes.Fields(p))
	}
	s.passage = append(s.passage, p...)
	s.words += words
	s.body = s.body || words > 0
	if s.words >= enoughWords {
		s.endPassage()
	}
}

// cutPoint gives where to cut text that is too long for a passage.
func cutPoint(p []byte) int {
	words, sentence, word := 0, 0, 0
	blank := true
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		if unicode.IsSpace(r) {
			if !blank && i > 0 {
				word = i
				if c := p[i-1]; c == '.' || c == '!' || c == '?' {
					sentence = i
				}
			}
			blank = true
		} else {
			if blank {
				words++
			}
			blank = false
			if r == '。' || r == '！' || r == '？' {
				sentence = i + size
			}
		}
		if words > mostWords || i+size > mostBytes {
			break
		}
		i += size
	}
	// A sentence that ends early would leave a passage of a few words.
	if sentence > mostBytes/4 || sentence > 0 && sentence > word/2 {
		return sentence
	}
	if word > 0 {
		return word
	}
	end := mostBytes
	for end > 0 && !utf8.RuneStart(p[end]) {
		end--
	}
	if end == 0 {
		end = mostBytes
	}
	return end
}

func (s *splitter) endPassage() {
	passage := bytes.TrimSpace(s.passage)
	s.passage = s.passage[:0]
	s.words, s.body = 0, false
	if len(passage) > 0 {
		s.emit(passage)
	}
}

// finish emits the rest.
func (s *splitter) finish() {
	s.endParagraph()
	s.endPassage()
}
