package source

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
	"testing"
)

func zlibPacked(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func pdfStream(number int, entries, data string) string {
	return fmt.Sprintf("%d 0 obj\n<< /Length %d /Filter /FlateDecode%s >>\nstream\n%s\nendstream\nendobj\n", number, len(data), entries, data)
}

// TestCheckPDFBits inverts each bit of a page's content. The bits that fill the last byte before
// the checksum, and the level of compression, change no text.
func TestCheckPDFBits(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "(line %d) Tj T* ", i)
	}
	packed := zlibPacked(t, text.String())
	found, unchanged := 0, 0
	for bit := range 8 * len(packed) {
		changed := []byte(packed)
		changed[bit/8] ^= 1 << (bit % 8)
		if err := checkPDF(t.Context(), "x.pdf", []byte(pdfStream(1, "", string(changed))), 1<<20); err != nil {
			found++
			continue
		}
		r, err := zlib.NewReader(bytes.NewReader(changed))
		if err != nil {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text.String() {
			t.Errorf("bit %d of %d is not found: %v", bit, 8*len(packed), err)
		}
		unchanged++
	}
	t.Logf("%d of %d found, %d change no text", found, 8*len(packed), unchanged)
	if unchanged > 8 {
		t.Errorf("%d bits are not found", unchanged)
	}
}

func TestCheckPDFObjects(t *testing.T) {
	t.Parallel()
	const header = "12 0 13 23 "
	objects := zlibPacked(t, header+"<< /Type /Page /A(%) >> << /Type /Page /Contents [ 14 0 R ] >>")
	entries := fmt.Sprintf(" /Type /ObjStm /N 2 /First %d", len(header))
	packed := pdfStream(11, entries, objects)
	content := pdfStream(14, "", zlibPacked(t, "ET"))
	const damaged = "x.pdf is damaged: content of its pages (object "
	for name, test := range map[string]struct{ content, want string }{
		"whole":               {packed + content, ""},
		"missing content":     {packed, damaged + "14) is missing"},
		"damaged objects":     {pdfStream(11, entries, objects[:20]) + content, damaged + "11) cannot be unpacked"},
		"encrypted":           {pdfStream(11, entries, objects[:20]) + "trailer << /Encrypt 9 0 R >>", ""},
		"a form":              {pdfStream(1, " /Type /XObject /Subtype /Form /BBox [ 0 0 1 1 ]", objects[:20]), damaged + "1) cannot be unpacked"},
		"a font":              {pdfStream(1, " /Length1 99", objects[:20]), ""},
		"an empty stream":     {pdfStream(1, "", ""), ""},
		"an annotation":       {"1 0 obj << /Type /Annot /Contents 99 0 R >> endobj", ""},
		"no end of an object": {"1 0 obj << /A 1 endobj 2 0 obj << /Type /Page /Contents 99 0 R >> endobj", ""},
		"too large":           {pdfStream(1, "", zlibPacked(t, strings.Repeat("x", 2<<20))), errTooLarge.Error()},
	} {
		err := checkPDF(t.Context(), "x.pdf", []byte(test.content), 1<<20)
		if got := fmt.Sprint(err); err != nil && (test.want == "" || !strings.HasPrefix(got, test.want)) || err == nil && test.want != "" {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
