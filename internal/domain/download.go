package domain

// DownloadFormat is a format of a file with all rows of a dataset.
type DownloadFormat string

// The formats of downloads.
const (
	DownloadCSV     DownloadFormat = "csv"
	DownloadParquet DownloadFormat = "parquet"
)

// Download says how the rows of a dataset become a file.
type Download struct {
	Format DownloadFormat
	// EscapeFormulas puts a quote before the texts of a CSV file that a spreadsheet would run
	// as formulas.
	EscapeFormulas bool
}
