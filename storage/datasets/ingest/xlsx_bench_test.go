package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/storage/datasets/ingest"
)

// BenchmarkWorkbook ingests a sheet of 20 columns: numbers, texts, dates and times.
func BenchmarkWorkbook(b *testing.B) {
	benchtest.Each(b, "rows", benchtest.Sizes(10_000, 100_000), func(b *testing.B, rows int) {
		l := setup(b)
		source := filepath.Join(l.dir, "orders.xlsx")
		writeWorkbook(b, source, rows)
		b.ResetTimer()
		for range b.N {
			start := time.Now()
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{{Path: source, Name: "orders.xlsx"}}})
			if result.Rows != int64(rows) || len(result.Columns) != 20 {
				b.Fatalf("%d rows of %d columns", result.Rows, len(result.Columns))
			}
			b.ReportMetric(time.Since(start).Seconds(), "s/ingest")
			// Making the file is in it.
			b.ReportMetric(float64(benchtest.Memory(os.Getpid(), "VmHWM"))/(1<<20), "MiB-peak")
		}
	})
}

func writeWorkbook(b *testing.B, path string, rows int) {
	b.Helper()
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter("Sheet1")
	must(err)
	day, at := "dd/mm/yyyy", "dd/mm/yyyy hh:mm"
	dayStyle, err := f.NewStyle(&excelize.Style{CustomNumFmt: &day})
	must(err)
	atStyle, err := f.NewStyle(&excelize.Style{CustomNumFmt: &at})
	must(err)
	row := make([]any, 20)
	for i := range row {
		row[i] = fmt.Sprintf("column %d", i)
	}
	must(w.SetRow("A1", row))
	for i := range rows {
		for j := range row {
			switch {
			case j == 18:
				row[j] = excelize.Cell{StyleID: dayStyle, Value: 40000 + i%3000}
			case j == 19:
				row[j] = excelize.Cell{StyleID: atStyle, Value: 40000 + float64(i)/3000}
			case j%3 == 0:
				row[j] = fmt.Sprintf("text %d", i*7919%10_000)
			case j%3 == 1:
				row[j] = i * j
			default:
				row[j] = float64(i) / 8
			}
		}
		must(w.SetRow(fmt.Sprintf("A%d", i+2), row))
	}
	must(w.Flush(), f.SaveAs(path))
}
