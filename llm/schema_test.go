package llm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader/profile"
)

// shopData is a shop in DuckDB.
func shopData(t *testing.T) (*ducktest.Duck, []llm.Dataset) {
	t.Helper()
	d := ducktest.New(t)
	d.Exec(`CREATE TABLE orders AS SELECT i AS id, 1 + i % 40 AS customer_id, i % 10 / 2.0 AS rating,
			CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'it''s paid' ELSE 'open' END AS status, i % 7 || ' kg' AS weight,
			DATE '2025-01-01' + CAST(i AS INTEGER) AS placed, i % 2 = 0 AS gift, [i] AS tags, strftime(DATE '2025-01-01' + CAST(i AS INTEGER), '%d.%m.%Y') AS shipped
		FROM range(1, 301) AS r(i)`,
		`CREATE TABLE customers AS SELECT i AS id, 'Customer ' || i AS name, repeat('long ', 20) || i AS remarks, NULL::VARCHAR AS fax, '' AS title FROM range(1, 41) AS r(i)`,
		`CREATE TABLE visits AS SELECT i AS visit, 'page ' || i % 3 AS page FROM range(60000) AS r(i)`,
		`CREATE TABLE manual AS SELECT 'guide.md' AS document, i AS passage, 'Some text ' || i AS text FROM range(1, 4) AS r(i)`)
	orders := d.Dataset("orders")
	orders.Description, orders.Columns[3].Description = "what customers bought", "how far it is"
	return d, []llm.Dataset{orders, d.Dataset("customers"), d.Dataset("visits"), d.Dataset("manual")}
}

const shopText = `dataset "orders", 300 rows: what customers bought
  "id" BIGINT (1 to 300)
  "customer_id" BIGINT (1 to 40)
  "rating" DOUBLE (all values: 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5)
  "status" VARCHAR: how far it is (60 missing; all values: 'it''s paid', 'open')
  "weight" VARCHAR (numbers written as text, in 'kg'; all values: '0 kg', '1 kg', '2 kg', '3 kg', '4 kg', '5 kg', '6 kg')
  "placed" DATE (2025-01-02 to 2025-10-28)
  "gift" BOOLEAN (all values: false, true)
  "tags" BIGINT[]
  "shipped" VARCHAR (dates written as text; such as '01.02.2025', '11.02.2025', '21.02.2025')
dataset "customers", 40 rows
  "id" BIGINT (1 to 40)
  "name" VARCHAR (such as 'Customer 1', 'Customer 21', 'Customer 33')
  "remarks" VARCHAR (such as 'long long long long long long long long long long long long long long long lo…')
  "fax" VARCHAR (40 missing)
  "title" VARCHAR (all values: '')
dataset "visits", 60000 rows
  values are those of the first 50000 rows
  "visit" BIGINT (0 to 49999)
  "page" VARCHAR (such as 'page 0', 'page 1', 'page 2')
dataset "manual", 3 rows, passages of text
  "document" VARCHAR (all values: 'guide.md')
  "passage" BIGINT (all values: 1, 2, 3)
  "text" VARCHAR
references between these datasets:
  "orders"."customer_id" refers to "customers"."id"
`

// TestPromptTellsWhatDatasetsHold checks the facts, which are read once for all questions.
func TestPromptTellsWhatDatasetsHold(t *testing.T) {
	t.Parallel()
	d, datasets := shopData(t)
	cache := profile.NewCache(1 << 20)
	task := llm.Task{Question: "Who are the best customers by orders?", Datasets: datasets, Data: d}
	for range 2 {
		if got := llm.SchemaText(t.Context(), task, cache.Facts); got != shopText {
			t.Errorf("got\n%s", got)
		}
		if n := d.Queries.Load(); n != int64(len(datasets)) {
			t.Errorf("%d queries for %d datasets", n, len(datasets))
		}
	}
}

// TestPromptTellsOfLinks has those of the task first, and no other for their columns.
func TestPromptTellsOfLinks(t *testing.T) {
	t.Parallel()
	d, datasets := shopData(t)
	link := func(from, column, to, toColumn string) llm.Link {
		return llm.Link{From: from, Columns: []string{column}, To: to, ToColumns: []string{toColumn}}
	}
	declared := link("orders", "customer_id", "customers", "name")
	declared.Declared, declared.ManyFrom, declared.Orphans, declared.Label = true, true, 7, "who\npaid"
	turned := link("customers", "id", "visits", "visit")
	turned.ManyTo = true
	many := llm.Link{From: "orders", Columns: []string{"status", "gift"}, To: "visits", ToColumns: []string{"page", "visit"}, ManyFrom: true, ManyTo: true}
	task := llm.Task{
		Question: "Who are the best customers by orders?", Datasets: datasets, Data: d,
		Links: []llm.Link{declared, turned, many, link("orders", "id", "elsewhere", "id")},
	}
	const want = `references between these datasets:
  "orders"."customer_id" refers to "customers"."name"; for 7 rows there is none; declared by the user: who paid
  "visits"."visit" refers to "customers"."id"
  ("orders"."status", "orders"."gift") has the values of ("visits"."page", "visits"."visit"), each in several rows of both: join no sums or counts by it
`
	if got := llm.SchemaText(t.Context(), task, profile.NewCache(1<<20).Facts); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
	task.Data = nil
	if got := llm.SchemaText(t.Context(), task, nil); !strings.HasSuffix(got, want) {
		t.Errorf("without facts: got\n%s", got)
	}
}

// TestPromptWithoutFacts has data that cannot be read, or not in time: the prompt has no
// facts of it.
func TestPromptWithoutFacts(t *testing.T) {
	t.Parallel()
	d, datasets := shopData(t)
	cache := profile.NewCache(1 << 20)
	if _, err := cache.Part(t.Context(), d, datasets[1]); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]llm.Data{"none": nil, "away": data{}, "slow": hanging{}} {
		task := llm.Task{Question: "How many orders?", Datasets: datasets, Data: data}
		synctest.Test(t, func(t *testing.T) {
			got := llm.SchemaText(t.Context(), task, cache.Facts)
			if !strings.Contains(got, "  \"status\" VARCHAR: how far it is\n") || strings.Contains(got, "'Customer 1'") != (data != nil) {
				t.Errorf("%s:\n%s", name, got)
			}
		})
	}
}

// hanging answers no query.
type hanging struct{}

func (hanging) Query(ctx context.Context, _ string) (llm.Rows, error) {
	<-ctx.Done()
	return llm.Rows{}, ctx.Err()
}

// TestFactsAreBounded has many wide datasets: the facts of the likeliest leave room for
// others.
func TestFactsAreBounded(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	d.Exec("CREATE TABLE parcels AS SELECT " + wideColumns(60) + " FROM range(20) AS r(i)")
	datasets := append([]llm.Dataset{d.Dataset("parcels")}, wide(100, 50)...)
	got := llm.SchemaText(t.Context(), llm.Task{Question: "How heavy are parcels?", Datasets: datasets, Data: d}, profile.NewCache(1<<20).Facts)
	block, _, _ := strings.Cut(got, "\ndataset ")
	if len(block) > 8<<10 || !strings.Contains(block, "(such as '0 ") || !strings.Contains(block, "\n  \"c59\" VARCHAR") {
		t.Errorf("%d bytes:\n%s", len(block), block)
	}
	if len(got) > 26<<10 || !strings.Contains(got, "more datasets, which seem") {
		t.Errorf("%d bytes", len(got))
	}
}

func wideColumns(n int) string {
	columns := make([]string, n)
	for i := range columns {
		columns[i] = fmt.Sprintf("i || ' is a value of it, and quite a long one' AS c%d", i)
	}
	return strings.Join(columns, ", ")
}
