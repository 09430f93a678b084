package rules

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"parley/llm"
)

func learnt(tb testing.TB, d *duck, datasets []llm.Dataset) []*table {
	tb.Helper()
	tables, err := New().learn(tb.Context(), d, datasets)
	if err != nil {
		tb.Fatal(err)
	}
	return tables
}

func TestLearn(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	tables := learnt(t, d, datasets)
	dogs := tables[1]
	if dogs.rows != 4 || nameColumn(dogs).name != "name" || keyColumn(dogs).name != "dog_id" {
		t.Errorf("%d rows, %s, %s", dogs.rows, nameColumn(dogs).name, keyColumn(dogs).name)
	}
	breed := dogs.columns[2]
	if strings.Join(breed.values, ",") != "beagle,collie,poodle" || breed.unique || !breed.complete || breed.distinct != 3 {
		t.Errorf("%+v", breed)
	}
	if born := dogs.columns[5]; born.kind != kindDate || born.typed {
		t.Errorf("born is %v", born.kind)
	}
	if found := dogs.index.containing("march 2019"); len(found) != 1 || found[0].text() != "12 March 2019" {
		t.Errorf("found %v", found)
	}
	if found := dogs.index.whole("poodle"); len(found) != 1 || found[0].column != breed {
		t.Errorf("found %v", found)
	}
}

func TestJoins(t *testing.T) {
	t.Parallel()
	d, datasets := library(t)
	tables := learnt(t, d, datasets)
	g := newJoinGraph(tables)
	var edges []string
	for _, e := range g.edges {
		edges = append(edges, fmt.Sprintf("%s.%s>%s.%s", e.many.table.name, e.many.name, e.one.table.name, e.one.name))
	}
	want := "books.author_id>authors.author_id loans.member_id>members.member_id loans.book_id>books.book_id"
	if got := strings.Join(edges, " "); got != want {
		t.Errorf("got %s", got)
	}
	steps, ok := g.path(tables[0], tables[1])
	if !ok || len(steps) != 3 || !g.manyOf(tables[0], tables[3]) || g.manyOf(tables[3], tables[0]) {
		t.Errorf("%d steps, %v", len(steps), ok)
	}
	if _, ok := g.path(tables[0], &table{name: "x"}); ok {
		t.Error("a path to nowhere")
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newCache(1000)
	for i := range 50 {
		c.put(fmt.Sprint(i), &table{bytes: 300})
	}
	c.put("large", &table{bytes: 2000})
	if c.used > 1000 || c.order.Len() != 3 || c.get("49") == nil || c.get("1") != nil || c.get("large") != nil {
		t.Errorf("%d bytes, %d tables", c.used, c.order.Len())
	}
	c.get("47")
	c.put("new", &table{bytes: 300})
	if c.get("47") == nil || c.get("48") != nil {
		t.Error("what was used last was dropped")
	}
	c.put("new", &table{bytes: 100})
	if c.used != 700 {
		t.Errorf("%d bytes", c.used)
	}
}

// counting counts the queries that go through.
type counting struct {
	llm.Data
	mu sync.Mutex
	n  int
}

func (c *counting) Query(ctx ctx, sql string) (llm.Rows, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.Data.Query(ctx, sql)
}

func TestLearnsOnceAVersion(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	data := &counting{Data: d}
	rules := New()
	write := func() {
		t.Helper()
		if _, err := rules.WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: data}, Instruction: "How many dogs are there?"}); err != nil {
			t.Error(err)
		}
	}
	write()
	first := data.n
	write()
	if data.n != first+1 {
		t.Errorf("%d queries, then %d", first, data.n-first)
	}
	datasets[1].Version = "2"
	write()
	if data.n < first+3 {
		t.Error("a new version was not learnt")
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(write)
	}
	wait.Wait()
}

// failing fails for every query once it is told to.
type failing struct {
	llm.Data
	with error
}

func (f *failing) Query(ctx ctx, sql string) (llm.Rows, error) {
	if f.with != nil {
		return llm.Rows{}, f.with
	}
	return f.Data.Query(ctx, sql)
}

// Data that goes away between two queries is not taken for a question that cannot
// be answered.
func TestDataGoesAway(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	data := &failing{Data: d}
	rules := New()
	task := llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: data}, Instruction: "How many dogs are there?"}
	if _, err := rules.WriteQuery(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	data.with = errors.New("the database is away")
	if _, err := rules.WriteQuery(t.Context(), task); !errors.Is(err, data.with) {
		t.Errorf("while the data is away: %v", err)
	}
	data.with = nil
	if _, err := rules.WriteQuery(t.Context(), task); err != nil {
		t.Errorf("when it is back: %v", err)
	}
}
