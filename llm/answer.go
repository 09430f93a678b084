package llm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxMarkdown limits an answer, in bytes.
const maxMarkdown = 64 << 10

// Answer implements [Jobs]. The Markdown has no HTML, no images, no links but to addresses
// that the data holds as they are, and no references but to existing steps.
func (c *Chat) Answer(ctx context.Context, task AnswerTask) (Answer, error) {
	question := task.Task
	question.Datasets = nil // the rows are enough
	view := struct {
		taskView
		Steps string
	}{c.viewOf(ctx, question), stepsText(task.Steps, answerLimits)}
	var answer Answer
	err := c.run(ctx, "answer", nil, view, &answer.Usage, func(text string) error {
		if err := checkTexts(text); err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			return errors.New("it is empty")
		case len(text) > maxMarkdown:
			return fmt.Errorf("it is longer than %d bytes: be much briefer", maxMarkdown)
		}
		text = dropInvalidCitations(text, len(task.Steps))
		safe, used := linksIn(task.Steps).sanitizeLinks(text)
		if len(used) > 0 {
			safe = storedLinks(ctx, task, used).sanitize(text)
		}
		answer.Markdown = safe
		return nil
	})
	return answer, err
}

var citation = regexp.MustCompile(`(?i)\s?\[step\s+(\d{1,9})\]`)

func dropInvalidCitations(text string, steps int) string {
	return citation.ReplaceAllStringFunc(text, func(found string) string {
		n, _ := strconv.Atoi(citation.FindStringSubmatch(found)[1])
		if n < 1 || n > steps {
			return ""
		}
		return found
	})
}
