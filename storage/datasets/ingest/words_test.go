package ingest_test

import (
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// TestWords reads words for true and false, of any language, in all formats alike.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, content, types, rows, warnings string }{
		{"CSV", "x.csv", "de,fr,es,it,no,norway,mixed\nja,oui,sí,si,no,NO,ja\n Nein ,NON,SI,No,no,no,no\nJA,,no,SI,no,NO,ja\n",
			"de BOOLEAN, fr BOOLEAN, es BOOLEAN, it BOOLEAN, no VARCHAR, norway VARCHAR, mixed VARCHAR",
			`{"de":true,"fr":true,"es":true,"it":true,"no":"no","norway":"NO","mixed":"ja"}
{"de":false,"fr":false,"es":true,"it":false,"no":"no","norway":"no","mixed":"no"}
{"de":true,"fr":null,"es":false,"it":true,"no":"no","norway":"NO","mixed":"ja"}`,
			"ja is read as true and nein as false\noui is read as true and non as false\nsí or si is read as true and no as false\nsí or si is read as true and no as false"},
		{"JSON", "x.json", `[{"de":"ja","es":"s\u00ed","en":"yes","no":"no","l":["ja","nein"]},{"de":"Nein","es":"No","en":"no","no":"NO","l":null},{"de":null,"es":"Sí","en":" Yes "}]`,
			"de BOOLEAN, es BOOLEAN, en BOOLEAN, no VARCHAR, l VARCHAR[]",
			`{"de":true,"es":true,"en":true,"no":"no","l":["ja","nein"]}
{"de":false,"es":false,"en":false,"no":"NO","l":null}
{"de":null,"es":true,"en":true,"no":null,"l":null}`,
			"ja is read as true and nein as false\nsí or si is read as true and no as false"},
		{"others in JSON", "x.ndjson", `{"a":"ja"}` + "\n" + `{"a":"nein"}` + "\n" + `{"a":"vielleicht"}` + "\n", "a VARCHAR",
			`{"a":"ja"}` + "\n" + `{"a":"nein"}` + "\n" + `{"a":"vielleicht"}`, "the column is text: 1 cell of 3 cannot be read as boolean"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result := l.readsPart(l.file(test.file, test.content), "", test.types, test.rows)
			if got := warnings(result); got != test.warnings {
				t.Errorf("warnings: got %s\nwant %s", got, test.warnings)
			}
		})
	}
}

// TestWordsAppended reads one word of a pair where the dataset has booleans, and keeps the words
// where it has texts.
func TestWordsAppended(t *testing.T) {
	t.Parallel()
	l := setup(t)
	have := []domain.Column{{Name: "a", Type: "BOOLEAN"}, {Name: "b", Type: "VARCHAR"}}
	for _, file := range []ingest.Source{l.file("x.csv", "a,b\nNein,ja\nnein,nein\n"), l.file("x.json", `[{"a":"Nein","b":"ja"},{"a":"nein","b":"nein"}]`)} {
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{file}, Have: have})
		if got, want := types(result.Columns), "a BOOLEAN, b VARCHAR"; got != want {
			t.Errorf("%s: got %s, want %s", file.Name, got, want)
		}
		if got, want := l.rows(result.Columns, result), `{"a":false,"b":"ja"}`+"\n"+`{"a":false,"b":"nein"}`; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file.Name, got, want)
		}
	}
}
