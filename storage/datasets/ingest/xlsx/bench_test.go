package xlsx_test

import (
	"archive/zip"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/storage/datasets/ingest/xlsx"
)

// BenchmarkAgainstExcelize reads all cells of a sheet of 20 columns.
func BenchmarkAgainstExcelize(b *testing.B) {
	const rows, columns = 20_000, 20
	path := filepath.Join(b.TempDir(), "sheet.xlsx")
	write(b, path, rows, columns)
	for name, read := range map[string]func(*testing.B, string) int{"ours": readOurs, "excelize": readExcelize} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := read(b, path); got != rows*columns {
					b.Fatalf("%d cells", got)
				}
			}
		})
	}
}

func write(b *testing.B, path string, rows, columns int) {
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter("Sheet1")
	row := make([]any, columns)
	for i := 0; i < rows && err == nil; i++ {
		for j := range row {
			if row[j] = any(i * j); j%3 == 0 {
				row[j] = fmt.Sprintf("text %d", i*7919%10_000)
			}
		}
		err = w.SetRow(fmt.Sprint("A", i+1), row)
	}
	for _, step := range []func() error{w.Flush, func() error { return f.SaveAs(path) }} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}

func readOurs(b *testing.B, path string) (cells int) {
	files, err := zip.OpenReader(path)
	if err != nil {
		b.Fatal(err)
	}
	w, err := xlsx.Open(b.Context(), path, files, func(func(io.Writer) error) (string, error) { panic("no texts") })
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	if err := w.ReadTexts(b.Context()); err != nil {
		b.Fatal(err)
	}
	if _, err := w.Sheets[0].Read(b.Context(), "sheet", func(_ int, row []string) error { cells += len(row); return nil }); err != nil {
		b.Fatal(err)
	}
	return cells
}

func readExcelize(b *testing.B, path string) (cells int) {
	f, err := excelize.OpenFile(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	rows, err := f.Rows("Sheet1")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Columns()
		if err != nil {
			b.Fatal(err)
		}
		cells += len(row)
	}
	return cells
}
