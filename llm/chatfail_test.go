package llm_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/llm"
)

// refuse answers with a status, and headers in pairs.
func refuse(s *standin, rw http.ResponseWriter, code int, headers ...string) {
	for i := 0; i < len(headers); i += 2 {
		rw.Header().Set(headers[i], headers[i+1])
	}
	rw.WriteHeader(code)
	fmt.Fprintf(rw, s.w.refusal, "no: "+key)
}

func TestChatRefused(t *testing.T) {
	t.Parallel()
	for code, test := range map[int]struct {
		words string
		asked int
	}{
		401: {"does not accept the API key", 1},
		403: {"does not accept the API key", 1},
		404: {"is not known to its provider", 1},
		400: {"refused the request (400)", 2}, // the second without a shape
		429: {"has too many requests", 3},
		500: {"has an internal problem (500)", 3},
		503: {"has an internal problem (503)", 3},
		529: {"has an internal problem (529)", 3},
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, provider string) {
				s := newStandin(t, provider, func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, _ request) { refuse(s, rw, code) })
				chat, _ := s.chat(llm.ChatConfig{})
				plan, err := chat.Plan(t.Context(), shopTask())
				checkUnavailable(t, s, err, test.words)
				if plan.Usage != (llm.Usage{Model: provider + ":m"}) {
					t.Errorf("usage %+v", plan.Usage)
				}
				if log := fmt.Sprint(slog.AnyValue(err).Resolve()); !strings.Contains(log, fmt.Sprint("answered ", code)) || strings.Contains(log, key) {
					t.Errorf("logged as %s", log)
				}
				var status *llm.StatusError
				if !errors.As(err, &status) || status.Code != code {
					t.Errorf("%v does not wrap the status", err)
				}
				if n := len(s.asked()); n != test.asked {
					t.Errorf("asked %d times, want %d", n, test.asked)
				}
			})
		})
	}
}

func checkUnavailable(t *testing.T, s *standin, err error, words string) {
	t.Helper()
	if !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), words) {
		t.Fatalf("error %v, want ErrUnavailable with %q", err, words)
	}
	if text := err.Error(); strings.Contains(text, "127.0.0.1") || strings.Contains(text, "http") || strings.Contains(text, key) {
		t.Errorf("%q tells an address or the key", text)
	}
	if !strings.HasPrefix(err.Error(), llm.ErrUnavailable.Error()+": "+s.provider+":m ") {
		t.Errorf("%q does not say which model", err)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	far := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for name, test := range map[string]struct {
		header     string
		least, top time.Duration
	}{
		"seconds":  {"7", 7 * time.Second, 7 * time.Second},
		"too many": {"86400", 20 * time.Second, 20 * time.Second},
		"a date":   {far, 20 * time.Second, 20 * time.Second},
		"the past": {past, 250 * time.Millisecond, 500 * time.Millisecond},
		"nonsense": {"soon", 250 * time.Millisecond, 500 * time.Millisecond},
		"none":     {"", 250 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, provider string) {
				s := newStandin(t, provider, func(s *standin, n int, rw http.ResponseWriter, _ *http.Request, asked request) {
					if n == 0 {
						refuse(s, rw, http.StatusTooManyRequests, "Retry-After", test.header)
						return
					}
					s.say(rw, asked, planJSON)
				})
				chat, pauses := s.chat(llm.ChatConfig{})
				if _, err := chat.Plan(t.Context(), shopTask()); err != nil {
					t.Fatal(err)
				}
				if got := pauses(); len(got) != 1 || got[0] < test.least || got[0] > test.top {
					t.Errorf("paused %v, want %v to %v", got, test.least, test.top)
				}
			})
		})
	}
}

// TestNoWaitPastTheDeadline has a pause that would end after the context.
func TestNoWaitPastTheDeadline(t *testing.T) {
	t.Parallel()
	s := newStandin(t, "openai", func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, _ request) {
		refuse(s, rw, http.StatusTooManyRequests, "Retry-After", "15")
	})
	chat, pauses := s.chat(llm.ChatConfig{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := chat.Plan(ctx, shopTask())
	checkUnavailable(t, s, err, "has too many requests")
	if len(pauses()) != 0 || len(s.asked()) != 1 {
		t.Errorf("pauses %v, %d requests", pauses(), len(s.asked()))
	}
}

// TestBrokenStreams interrupts streams in many ways. A second request succeeds after one
// interruption; a stream that is always interrupted is an error.
func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	cut := func(keep func(events []string) []string, end func(http.ResponseWriter, *http.Request)) func(*standin, http.ResponseWriter, *http.Request, request) {
		return func(s *standin, rw http.ResponseWriter, r *http.Request, asked request) {
			for _, event := range keep(s.events(asked, planJSON)) {
				fmt.Fprint(rw, event)
			}
			_ = http.NewResponseController(rw).Flush()
			end(rw, r)
		}
	}
	half := func(events []string) []string { return events[:len(events)/2] }
	most := func(events []string) []string { return events[:len(events)-4] }
	ends := func(http.ResponseWriter, *http.Request) {}
	breaks := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	says := func(text string) func(rw http.ResponseWriter, _ *http.Request) {
		return func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, text) }
	}
	for name, test := range map[string]struct {
		answer func(*standin, http.ResponseWriter, *http.Request, request)
		words  string
	}{
		"ends halfway":   {cut(half, ends), "stopped in the middle"},
		"breaks halfway": {cut(half, breaks), "stopped in the middle"},
		"breaks late":    {cut(half, breaks), "stopped in the middle"},
		"hangs halfway":  {cut(half, hangs), "did not answer in time"},
		"an error":       {cut(half, says("data: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"overloaded\"},\"type\":\"error\"}\n\n{\"error\":\"overloaded\"}\n")), "stopped in the middle"},
		"half an event":  {cut(half, says("data: {\"choices\":[{\"del\n\n{\"mess\n")), "stopped in the middle"},
		"a bad index":    {cut(most, says("data: {\"type\":\"content_block_delta\",\"index\":-1}\n\nnot JSON\n")), "stopped in the middle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, provider string) {
				for _, recovers := range []bool{true, false} {
					s := newStandin(t, provider, func(s *standin, n int, rw http.ResponseWriter, r *http.Request, asked request) {
						if n > 0 && recovers {
							s.say(rw, asked, planJSON)
							return
						}
						test.answer(s, rw, r, asked)
					})
					var cfg llm.ChatConfig
					if name == "hangs halfway" {
						cfg.Idle = 500 * time.Millisecond
					}
					chat, _ := s.chat(cfg)
					chat.SetTries(2)
					plan, err := chat.Plan(t.Context(), shopTask())
					if recovers {
						if err != nil || len(plan.Steps) != 2 {
							t.Errorf("%+v, %v", plan, err)
						}
						continue
					}
					checkUnavailable(t, s, err, test.words)
					if n := len(s.asked()); n != 2 {
						t.Errorf("asked %d times", n)
					}
				}
			})
		})
	}
}

// TestHangingModel has a server that sends nothing: the idle time or the timeout of the
// call ends it, whichever is shorter.
func TestHangingModel(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]llm.ChatConfig{
		"idle":     {Idle: 30 * time.Millisecond},
		"deadline": {Timeout: 30 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, provider string) {
				s := newStandin(t, provider, func(_ *standin, _ int, _ http.ResponseWriter, r *http.Request, _ request) { <-r.Context().Done() })
				chat, _ := s.chat(cfg)
				chat.SetTries(1)
				_, err := chat.Plan(t.Context(), shopTask())
				checkUnavailable(t, s, err, "did not answer in time")
			})
		})
	}
}

// TestCancelReachesTheProvider cancels the caller's context during a stream.
func TestCancelReachesTheProvider(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		gone := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		s := newStandin(t, provider, func(s *standin, _ int, rw http.ResponseWriter, r *http.Request, asked request) {
			fmt.Fprint(rw, s.events(asked, planJSON)[0])
			_ = http.NewResponseController(rw).Flush()
			cancel()
			<-r.Context().Done()
			close(gone)
		})
		chat, _ := s.chat(llm.ChatConfig{})
		if _, err := chat.Plan(ctx, shopTask()); !errors.Is(err, context.Canceled) || errors.Is(err, llm.ErrUnavailable) {
			t.Errorf("error %v, want the context's alone", err)
		}
		<-gone
		if n := len(s.asked()); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

func TestEndlessStreamEnds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := newStandin(t, provider, func(s *standin, _ int, rw http.ResponseWriter, r *http.Request, asked request) {
			events := s.events(asked, "{\"steps\":[\""+strings.Repeat("and so on ", 5000))
			for _, event := range events[:3] {
				fmt.Fprint(rw, event)
			}
			for r.Context().Err() == nil {
				for _, event := range events[3 : len(events)-4] {
					if _, err := fmt.Fprint(rw, event); err != nil {
						return
					}
				}
			}
		})
		chat, _ := s.chat(llm.ChatConfig{})
		if _, err := chat.Plan(t.Context(), shopTask()); !errors.Is(err, llm.ErrNoAnswer) {
			t.Errorf("error %v, want ErrNoAnswer", err)
		}
		if n := len(s.asked()); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestCutByTheProvider has the model stopped at its length limit: truncated text is no
// answer.
func TestCutByTheProvider(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, provider string) {
		s := newStandin(t, provider, func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, asked request) {
			for _, event := range s.events(asked, "The customers are Ada, Bob and") {
				fmt.Fprint(rw, strings.NewReplacer(`"stop"`, `"length"`, `"end_turn"`, `"max_tokens"`).Replace(event))
			}
		})
		chat, _ := s.chat(llm.ChatConfig{})
		answer, err := chat.Answer(t.Context(), llm.AnswerTask{Task: shopTask()})
		if !errors.Is(err, llm.ErrNoAnswer) || answer.Markdown != "" && err == nil {
			t.Errorf("%q, %v", answer.Markdown, err)
		}
		if asked := s.asked(); len(asked) != 2 || !strings.Contains(asked[1].user, "briefer") {
			t.Errorf("%d requests", len(asked))
		}
	})
}

func TestUnreachableChat(t *testing.T) {
	t.Parallel()
	for provider := range wires {
		s := &standin{t: t, provider: provider, url: "http://127.0.0.1:1"}
		chat, pauses := s.chat(llm.ChatConfig{})
		_, err := chat.Plan(t.Context(), shopTask())
		checkUnavailable(t, s, err, "gives no connection")
		if got := pauses(); len(got) != 2 || got[1] < 500*time.Millisecond || got[1] > time.Second {
			t.Errorf("pauses %v", got)
		}
	}
}

// TestModelIsLeftAlone opens the circuit breaker: after some failures there are no calls.
func TestModelIsLeftAlone(t *testing.T) {
	t.Parallel()
	s := newStandin(t, "ollama", func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, _ request) {
		refuse(s, rw, http.StatusInternalServerError)
	})
	chat, _ := s.chat(llm.ChatConfig{})
	for range 2 {
		_, err := chat.Plan(t.Context(), shopTask())
		checkUnavailable(t, s, err, "has an internal problem")
	}
	_, err := chat.Plan(t.Context(), shopTask())
	checkUnavailable(t, s, err, "failed several times in a row")
	if n := len(s.asked()); n != 6 {
		t.Errorf("asked %d times, want 6", n)
	}
}

func TestFewAtATime(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	entered, release := make(chan struct{}, 16), make(chan struct{})
	s := newStandin(t, "anthropic", func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, asked request) {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		entered <- struct{}{}
		<-release
		running.Add(-1)
		s.say(rw, asked, planJSON)
	})
	chat, _ := s.chat(llm.ChatConfig{Concurrency: 2})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := chat.Plan(t.Context(), shopTask()); err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	<-entered
	// A call that waits for a slot ends with its context.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := chat.Plan(ctx, shopTask()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	close(release)
	group.Wait()
	if most.Load() != 2 {
		t.Errorf("%d at once, want 2", most.Load())
	}
}

// TestExtractMoreThanFits has the model stopped when a part has more rows than fit into an
// answer: the part is split, and no row is lost. The calls of a model that is always
// stopped are limited.
func TestExtractMoreThanFits(t *testing.T) {
	t.Parallel()
	var fits atomic.Int64
	fits.Store(20)
	s := newStandin(t, "ollama", func(s *standin, _ int, rw http.ResponseWriter, _ *http.Request, asked request) {
		var rows []string
		for _, word := range strings.Fields(asked.user) {
			if strings.HasPrefix(word, "item-") {
				rows = append(rows, fmt.Sprintf(`{"word":"%s"}`, word))
			}
		}
		whole := `{"rows":[` + strings.Join(rows, ",") + `]}`
		if int64(len(rows)) <= fits.Load() {
			s.say(rw, asked, whole)
			return
		}
		for _, event := range s.events(asked, whole[:len(whole)/2]) {
			fmt.Fprint(rw, strings.ReplaceAll(event, `"stop"`, `"length"`))
		}
	})
	chat, _ := s.chat(llm.ChatConfig{})
	var text, want strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "item-%d %s\n\n", i, strings.Repeat("lorem ", 15))
		fmt.Fprintf(&want, `{"word":"item-%d"}`, i)
	}
	task := llm.ExtractTask{Text: text.String(), Fields: []llm.Field{{Name: "word"}}}
	got, err := chat.Extract(t.Context(), task)
	var all strings.Builder
	for _, row := range got.Rows {
		all.Write(row)
	}
	if err != nil || all.String() != want.String() {
		t.Errorf("rows %s, %v", all.String(), err)
	}
	fits.Store(-1)
	before := len(s.asked())
	if _, err := chat.Extract(t.Context(), task); !errors.Is(err, llm.ErrNoAnswer) {
		t.Errorf("endless: %v", err)
	}
	if n := len(s.asked()) - before; n > 10 {
		t.Errorf("asked %d times", n)
	}
}
