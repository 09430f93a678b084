// Command measure asks the reader the questions of suites and says how many it gets
// right, with the tables in DuckDB in this process.
//
//	measure WEIGHTS PART DIR[=SET]...
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"parley/llm/eval"
	"parley/llm/reader/link"
	"parley/llm/reader/net"
	"parley/llm/reader/rank"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/duck"
)

type outcome struct {
	set, db, question, sql string
	right, any             bool
	confidence, answerable float64
	none                   bool
	took                   time.Duration
}

func main() {
	log.SetFlags(0)
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	n, err := net.Load(file)
	if err != nil {
		log.Fatal(err)
	}
	part := os.Args[2]
	type job struct{ set, name, dir string }
	var jobs []job
	for _, arg := range os.Args[3:] {
		dir, set, _ := strings.Cut(arg, "=")
		entries, err := os.ReadDir(dir)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() && (part == "all" || dataset.Part(set+"/"+e.Name()) == part) {
				jobs = append(jobs, job{set, e.Name(), filepath.Join(dir, e.Name())})
			}
		}
	}
	var mu sync.Mutex
	var all []outcome
	var wait sync.WaitGroup
	queue := make(chan job)
	for range 2 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for j := range queue {
				got, err := database(n, j.set, j.name, j.dir)
				if err != nil {
					log.Print(j.dir, ": ", err)
				}
				mu.Lock()
				all = append(all, got...)
				mu.Unlock()
			}
		}()
	}
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	wait.Wait()
	report(all)
}

func report(all []outcome) {
	bySet := map[string][]outcome{}
	for _, o := range all {
		bySet[o.set] = append(bySet[o.set], o)
	}
	sets := make([]string, 0, len(bySet))
	for s := range bySet {
		sets = append(sets, s)
	}
	sort.Strings(sets)
	for _, s := range sets {
		list := bySet[s]
		var asked, right, any int
		var times []time.Duration
		for _, o := range list {
			times = append(times, o.took)
			if o.none {
				continue
			}
			asked++
			if o.right {
				right++
			}
			if o.any {
				any++
			}
		}
		slices.Sort(times)
		fmt.Printf("%-12s %5d asked, right %.1f %%, among the beams %.1f %%, none %d; p50 %v p99 %v\n", s, asked, 100*float64(right)/float64(max(asked, 1)),
			100*float64(any)/float64(max(asked, 1)), len(list)-asked, times[len(times)/2].Round(time.Millisecond), times[len(times)*99/100].Round(time.Millisecond))
		curve(list)
	}
	if path := os.Getenv("RESULTS"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		for _, o := range all {
			if dataset.Part(o.set+"/"+o.db) == dataset.Validation {
				o.question, o.sql = "", ""
			}
			fmt.Fprintf(f, "%s\t%s\t%v\t%v\t%v\t%.3f\t%.3f\t%s\t%s\n", o.set, o.db, o.right, o.any, o.none, o.confidence, o.answerable, o.question, o.sql)
		}
	}
}

// curve prints precision and coverage at some confidences.
func curve(list []outcome) {
	list = slices.Clone(list)
	score := func(o outcome) float64 { return o.confidence * o.answerable }
	slices.SortFunc(list, func(a, b outcome) int {
		if score(a) > score(b) {
			return -1
		}
		return 1
	})
	right := 0
	next := 10
	for i, o := range list {
		if o.right {
			right++
		}
		if (i+1)*100 >= next*len(list) {
			fmt.Printf("   answered %3d %%: precision %.1f %% at %.3f\n", next, 100*float64(right)/float64(i+1), score(o))
			next += 10
		}
	}
}

func database(n *net.Net, set, name, dir string) ([]outcome, error) {
	db, err := duck.Open(dir)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	f, err := os.Open(filepath.Join(dir, "questions.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []outcome
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		if strings.TrimSpace(s.Text()) == "" {
			continue
		}
		var q struct {
			eval.Question
			After []string `json:"after"`
		}
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.UseNumber()
		if err := d.Decode(&q); err != nil {
			return all, err
		}
		if len(q.After) > 0 {
			continue
		}
		if q.Answer == nil && q.SQL != "" {
			if q.Answer, err = db.Rows(q.SQL); err != nil {
				continue
			}
			q.Match = eval.MatchRows
		}
		o := ask(n, db, &q.Question)
		o.set, o.db, o.question, o.none = set, name, q.Question.Question, q.SQL == "" && q.Answer == nil
		if o.none {
			o.right, o.any = false, false
		}
		all = append(all, o)
	}
	return all, s.Err()
}

func ask(n *net.Net, db *duck.Database, q *eval.Question) outcome {
	cat := db.Catalog
	start := time.Now()
	tokens := link.Tokenize(q.Question)
	values := link.Values(tokens, cat, dataset.Now)
	in := link.New(tokens, cat, values, nil, nil)
	e := n.Encode(in)
	candidates := n.Write(e, cat)
	o := outcome{took: time.Since(start), answerable: e.Answerable}
	results := map[string][][]any{}
	readings, _ := rank.Readings(rank.Question{Tokens: tokens, Input: in, Catalog: cat, Now: dataset.Now, Answerable: e.Answerable}, candidates, func(text string) (rank.Result, bool, error) {
		got, err := db.Rows(text)
		if err != nil {
			return rank.Result{}, false, nil
		}
		results[text] = got
		return rank.Result{Key: key(got), Rows: len(got), Empty: empty(got)}, true, nil
	})
	for i, r := range readings {
		right := q.Matches(results[r.SQL])
		o.any = o.any || right
		if i == 0 {
			o.right, o.confidence, o.sql = right, r.Probability, r.SQL
		}
	}
	return o
}

func key(rows [][]any) string {
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = fmt.Sprint(r...)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func empty(rows [][]any) bool {
	for _, r := range rows {
		for _, c := range r {
			if c != nil {
				return false
			}
		}
	}
	return true
}
