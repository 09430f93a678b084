package source

import (
	"bytes"
	"errors"
	"testing"

	"parley/internal/domain"
)

func FuzzSniff(f *testing.F) {
	for _, name := range []string{"x.csv", "x.tsv.gz", "x.json", "x.parquet", "x.md", "x", ".csv", "x.CSV"} {
		for _, head := range []string{"a,b\n1,2", `[{"a":1}]`, "PAR1", "\xff\xfea\x00", "\xef\xbb\xbf", "a\x00b", "# text", "PK\x03\x04", " {\n} "} {
			f.Add(name, []byte(head))
		}
	}
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		format, err := sniff(name, head)
		if (format == nil) != (err != nil) {
			t.Fatalf("got %v and %v", format, err)
		}
		var refusal *domain.Error
		if err != nil && (!errors.As(err, &refusal) || refusal.Message == "") {
			t.Fatalf("got %v, which is not for the owner", err)
		}
		if err == nil && format != Parquet && format != formatZip && format.open == nil && bytes.IndexByte(head, 0) >= 0 {
			t.Fatalf("binary data passed for text %v", format)
		}
		if again, _ := sniff(name, append([]byte(nil), head...)); again != format {
			t.Fatal("the same file is now another format")
		}
	})
}
