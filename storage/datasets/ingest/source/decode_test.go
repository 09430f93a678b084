package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"parley/internal/domain"
)

func TestDecodedLimit(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]int64{
		0: minDecoded, 24 << 10: minDecoded, 10 << 20: 2000 << 20, 1 << 30: maxDecoded, 1 << 40: maxDecoded,
	} {
		if got := DecodedLimit(size); got != want {
			t.Errorf("%d bytes may become %d, want %d", size, got, want)
		}
	}
}

// What gzipped sources unpack to is bounded by their size, all together.
func TestUnpackedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, writeErr := zip.Write([]byte("a\n" + strings.Repeat("0\n", 10_000)))
	path := filepath.Join(dir, "x.csv.gz")
	if err := errors.Join(writeErr, zip.Close(), os.WriteFile(path, zipped.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := &Reader{Dir: dir, MaxUnpacked: 10 << 30, unpacked: minDecoded - 30_000}
	if _, err := r.decode(t.Context(), path, "x.csv.gz", zipped.Bytes()); err != nil || r.unpacked != minDecoded-30_000+20_002 {
		t.Errorf("the first: %d, %v", r.unpacked, err)
	}
	if _, err := r.decode(t.Context(), path, "x.csv.gz", zipped.Bytes()); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "more than 9998 bytes") {
		t.Errorf("the second: %v", err)
	}
}

// TestDoubtfulWindows1252 reads texts in other encodings: each is refused or doubtful, and texts
// in Windows-1252 are neither.
func TestDoubtfulWindows1252(t *testing.T) {
	t.Parallel()
	const columns = "id,customer,city,total amount\n"
	for name, test := range map[string]struct {
		encoding encoding.Encoding
		text     string
		doubtful bool
	}{
		"Shift_JIS":          {japanese.ShiftJIS, columns + "1,山田商店,大阪,1200\n2,さくら会,なら,300\n", true},
		"Shift_JIS katakana": {japanese.ShiftJIS, columns + "1,レストラン,パリ,1200\n2,スズキ,ナゴヤ,300\n", true},
		"EUC-JP":             {japanese.EUCJP, columns + "1,山田商店,大阪,1200\n", true},
		"GBK":                {simplifiedchinese.GBK, columns + "1,北京公司,上海,1200\n", true},
		"Big5":               {traditionalchinese.Big5, columns + "1,台北公司,高雄,1200\n", true},
		"EUC-KR":             {korean.EUCKR, columns + "1,서울상사,부산,1200\n", true},
		"Cyrillic":           {charmap.Windows1251, columns + "1,Заказчик,Москва,1200\n", true},
		"Greek":              {charmap.Windows1253, columns + "1,Πελάτης,Αθήνα,1200\n", true},
		"Cyrillic, short":    {charmap.Windows1251, "a,b\nда,нт\nда,нт\n", true},
		"florins":            {charmap.Windows1252, "item,price\nbread,ƒ 2\nmilk,ƒ1.50\n", false},
		"German":             {charmap.Windows1252, "Größe,Straße,Maß\n1,Füße,Übergröße\n", false},
		"French":             {charmap.Windows1252, "prénom,œuvre,prix\nÉloïse,«\u00a0Paris\u00a0»,12\u00a0€\n", false},
		"Portuguese":         {charmap.Windows1252, "situação,opções\nações,não\n", false},
		"prices":             {charmap.Windows1252, "item,price\na,\u00a0€…\nb,\u00a0€…\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := test.encoding.NewEncoder().String(test.text)
			if err != nil {
				t.Fatal(err)
			}
			ok, doubtful, err := DecodeWindows1252(strings.NewReader(raw), io.Discard)
			if err != nil || (!ok || doubtful) != test.doubtful {
				t.Errorf("ok %t, doubtful %t, %v", ok, doubtful, err)
			}
		})
	}
}
