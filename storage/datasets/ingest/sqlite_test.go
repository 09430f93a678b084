package ingest_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/domain"
)

// database makes an SQLite file.
func database(t testing.TB, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	db, err := sql.Open("sqlite", path)
	must(err)
	_, err = db.Exec(statements)
	must(err, db.Close())
	content, err := os.ReadFile(path)
	must(err)
	return string(content)
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.file("shop.db", database(t, `
		PRAGMA journal_mode = wal;
		CREATE TABLE "the orders" (id INTEGER PRIMARY KEY, day DATE, price REAL, ok BOOLEAN, note TEXT, picture BLOB, twice REAL AS (price * 2), code TEXT);
		INSERT INTO "the orders" (day, price, ok, note, picture, code) VALUES ('2024-02-29', 2, 1, 'a "b"', x'00ff', '007'), (NULL, 2.5, 0, '', NULL, '8');
		CREATE TABLE customers (name TEXT) STRICT;
		INSERT INTO customers VALUES ('Ann');
		CREATE TABLE empty (a);
		CREATE VIEW v AS SELECT * FROM customers;
		CREATE VIRTUAL TABLE search USING fts5(body);
		INSERT INTO search VALUES ('hello')`))
	if got, want := l.parts(source), "customers, the orders"; got != want {
		t.Errorf("parts: got %s, want %s", got, want)
	}
	l.readsPart(source, "THE ORDERS", "id BIGINT, day DATE, price DOUBLE, ok BIGINT, note VARCHAR, picture VARCHAR, code VARCHAR",
		`{"id":1,"day":"2024-02-29","price":2.0,"ok":1,"note":"a \"b\"","picture":"AP8=","code":"007"}`+"\n"+
			`{"id":2,"day":null,"price":2.5,"ok":0,"note":"","picture":null,"code":"8"}`)
	l.readsPart(source, "customers", "name VARCHAR", `{"name":"Ann"}`)
	l.refuses(source, domain.IngestOptions{}, "shop.db holds 2 tables: customers, the orders; choose one")
	l.refuses(l.file("empty.sqlite", database(t, "CREATE TABLE a (b)")), domain.IngestOptions{}, "empty.sqlite holds no table and no text")
	l.refuses(l.file("latin.db", database(t, "CREATE TABLE a (b TEXT); INSERT INTO a VALUES ('x'), (CAST(x'e9' AS TEXT))")), domain.IngestOptions{},
		`the table "a", row 2, column "b": the text is not UTF-8; convert it and send the file again`)
	l.refuses(l.file("text.db", "a,b\n1,2\n"), domain.IngestOptions{}, "text.db is not an SQLite file")
}

func TestSQLiteDamaged(t *testing.T) {
	t.Parallel()
	l := setup(t)
	whole := database(t, `CREATE TABLE a (b TEXT); WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO a SELECT 'some text ' || i FROM n`)
	const again = "it cannot be read to its end; open it in the program that wrote it, save it again and send that"
	l.refuses(l.file("x.db", whole[:3*4096]), domain.IngestOptions{}, "x.db is damaged: "+again)
	l.refuses(l.file("x.db", whole[:4*4096]+strings.Repeat("\xff", 4096)+whole[5*4096:]), domain.IngestOptions{}, "x.db (a) is damaged: "+again)
	l.refuses(l.file("x.db", whole[:100]), domain.IngestOptions{}, "x.db is damaged: "+again)
}
