package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/llm"
)

// byID answers by question id.
func byID(answer func(ctx context.Context, id string) (Reply, error)) Asker {
	return func(ctx context.Context, _ Namespace, q Question) (Reply, error) { return answer(ctx, q.ID) }
}

// numbered is a suite of two namespaces with questions 0, 1, 2, …
func numbered(questions int) *Suite {
	suite := &Suite{Namespaces: []Namespace{{Name: "a"}, {Name: "b"}}}
	for i := range questions {
		space := &suite.Namespaces[2*i/questions]
		space.Questions = append(space.Questions, Question{ID: fmt.Sprint(i), Question: "?", Match: MatchRows, Answer: [][]any{{n("1")}}})
	}
	return suite
}

func row(text string) llm.Rows { return llm.Rows{Rows: []json.RawMessage{json.RawMessage(text)}} }

func TestRunKeepsTheOrder(t *testing.T) {
	t.Parallel()
	const questions, parallel = 40, 8
	// The first question waits for all that can be asked in parallel with it.
	var asked sync.WaitGroup
	asked.Add(parallel - 1)
	var once [questions]sync.Once
	ask := byID(func(_ context.Context, id string) (Reply, error) {
		var i int
		if _, err := fmt.Sscan(id, &i); err != nil {
			return Reply{}, err
		}
		if i == 0 {
			asked.Wait()
		} else if i < parallel {
			once[i].Do(asked.Done)
		}
		return Reply{Rows: row(`{"n":1,"__metadata":{"score":1}}`)}, nil
	})
	var ids []string
	if err := Run(t.Context(), ask, numbered(questions), parallel, func(o Outcome) {
		ids = append(ids, o.ID)
		if !o.Right || o.Namespace == "" {
			t.Errorf("%+v", o)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for i := range questions {
		if ids[i] != fmt.Sprint(i) {
			t.Fatalf("order: %v", ids)
		}
	}
}

// Portions have several questions of a namespace, and each question once.
func TestPortions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ questions, parallel, most int }{{2, 8, 1}, {400, 2, 12}, {401, 1, 25}} {
		suite, place := numbered(test.questions), 0
		for _, p := range portions(suite, test.parallel) {
			if p.place != place || len(p.questions) > test.most || p.questions[0].ID != fmt.Sprint(place) {
				t.Errorf("%+v: %d questions from %d on, after %d", test, len(p.questions), p.place, place)
			}
			place += len(p.questions)
		}
		if place != test.questions {
			t.Errorf("%+v: %d questions", test, place)
		}
	}
}

// A question that hangs does not hold back the outcomes of others.
func TestRunEndsEarly(t *testing.T) {
	t.Parallel()
	broken := errors.New("gone")
	for name, test := range map[string]struct {
		end  func(cancel context.CancelFunc) error
		want error
	}{
		"interrupted": {func(cancel context.CancelFunc) error { cancel(); return nil }, context.Canceled},
		"broken":      {func(context.CancelFunc) error { return fmt.Errorf("%w: %w", ErrStop, broken) }, broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := make(chan struct{})
			ask := byID(func(ctx context.Context, id string) (Reply, error) {
				switch id {
				case "0":
					close(first)
					<-ctx.Done()
					return Reply{}, ctx.Err()
				case "3":
					<-first
					return Reply{}, test.end(cancel)
				}
				return Reply{Query: "q"}, nil
			})
			var ids []string
			err := Run(ctx, ask, numbered(6), 2, func(o Outcome) { ids = append(ids, o.ID) })
			if !errors.Is(err, test.want) || !slices.Equal(ids, []string{"1", "2"}) {
				t.Errorf("%v, %v", ids, err)
			}
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := Report{Failures: 2}
	for i, confidence := range []float64{0.2, 0.9, 0.5, 0.9} {
		r.Add(Outcome{ID: fmt.Sprint("wrong-", i), Confidence: confidence, MS: float64(i), Question: Question{Question: "is it\nthis\x1b[31m?"}, Values: [][]any{{"<no>"}}})
	}
	r.Add(Outcome{ID: "right", Right: true, MS: 100})
	r.Add(Outcome{ID: "silent", Error: "cannot say", MS: 1})
	r.Add(Outcome{ID: "broken", Error: "the model is down", Failed: true, MS: 1})
	if r.Score.All != (Count{Asked: 7, Answered: 5, Right: 1}) {
		t.Errorf("%+v", r.Score.All)
	}
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	got := text.String()
	for _, want := range []string{"p50 1.0 ms, p99 100.0 ms", "answered wrong: 4, the surest 2", "is it this [31m?", `[["<no>"]]`, "failed: 1", "the model is down", "  all      7    14.3 %    71.4 %     20.0 %", " sure      7    14.3 %    42.9 %     33.3 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if first, second := strings.Index(got, "wrong-1"), strings.Index(got, "wrong-3"); first < 0 || second < first || strings.Contains(got, "wrong-2") {
		t.Errorf("not the surest first:\n%s", got)
	}
}

// A line has rows, possibly none, or an error.
func TestWriteResult(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	for _, ask := range []func(context.Context, string) (Reply, error){
		func(context.Context, string) (Reply, error) {
			return Reply{Query: "a < b", Rows: row(`{"b":"<x>","a":null}`), Confidence: 0.5}, nil
		},
		func(context.Context, string) (Reply, error) { return Reply{Query: "none"}, nil },
		func(context.Context, string) (Reply, error) { return Reply{Rows: row(`{}`)}, Unanswered("") },
	} {
		o := Ask(t.Context(), byID(ask), Namespace{Name: "space"}, Question{ID: "1"})
		o.MS = 1.5
		if err := WriteResult(&text, o); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"id":"1","namespace":"space","query":"a < b","rows":[{"b":"<x>","a":null}],"confidence":0.5,"ms":1.5}
{"id":"1","namespace":"space","query":"none","rows":[],"confidence":0,"ms":1.5}
{"id":"1","namespace":"space","query":"","error":"no reason given","confidence":0,"ms":1.5}
`
	if text.String() != want {
		t.Errorf("got\n%s", &text)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int][]int{1: {1}, 3: {3}, 4: {3, 1}, 6: {3, 3}, 9: {3, 3}} {
		suite := numbered(6)
		suite.Limit(limit)
		var got []int
		for _, space := range suite.Namespaces {
			got = append(got, len(space.Questions))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d: %v", limit, got)
		}
	}
}
