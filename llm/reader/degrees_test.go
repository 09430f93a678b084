package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader"
)

// TestMinConfidence asks one question with several least confidences: the reading is the same, and
// whether it is an answer depends on the number alone.
func TestMinConfidence(t *testing.T) {
	t.Parallel()
	d, datasets := workshop(t)
	ask := func(question string, minConfidence float64) (llm.Query, error) {
		task := step(d, datasets, question)
		task.MinConfidence = &minConfidence
		return reader.New().WriteQuery(t.Context(), task)
	}
	const twoDates, oneDate = "How many work orders were there in 2025?", "How many work orders were opened in 2025?"
	likely, err := ask(twoDates, llm.LikelyConfidence)
	if err != nil || len(likely.Readings) > 0 || likely.Confidence < llm.LikelyConfidence || likely.Confidence >= llm.SureConfidence || !strings.HasPrefix(likely.Reasoning, "I read this as: ") {
		t.Fatalf("likely: %+v, %v", likely, err)
	}
	if n := len(likely.Others); n == 0 || n > 2 || likely.Others[0].SQL == likely.SQL || strings.Contains(likely.Reasoning, likely.Others[0].Words+".") {
		t.Errorf("other readings: %+v", likely)
	}
	asked, err := ask(twoDates, llm.SureConfidence)
	if err != nil || len(asked.Readings) != 2 || len(asked.Others) > 0 || asked.SQL != likely.SQL {
		t.Errorf("two readings are not asked about: %+v, %v", asked, err)
	}
	sure, err := ask(oneDate, llm.LikelyConfidence)
	if err != nil || sure.Confidence < llm.SureConfidence || len(sure.Others) > 0 || !strings.HasPrefix(sure.Reasoning, "Read as: ") {
		t.Errorf("sure: %+v, %v", sure, err)
	}
	var refused *llm.UnanswerableError
	if q, err := ask(oneDate, 1); !errors.As(err, &refused) {
		t.Errorf("at 1: %+v, %v", q, err)
	}
	const unread = "How many work orders have a warranty claim?"
	if q, err := ask(unread, llm.SureConfidence); !errors.As(err, &refused) {
		t.Errorf("%s: %+v, %v", unread, q, err)
	}
	if q, err := ask(unread, 0); err != nil || q.SQL == "" || q.Confidence >= llm.SureConfidence {
		t.Errorf("%s, at 0: %+v, %v", unread, q, err)
	}
}
