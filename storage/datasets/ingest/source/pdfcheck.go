package source

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"encoding/ascii85"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxPDFObject is the highest number of an object that PDFium reads.
	maxPDFObject = 4 << 20
	// maxObjectStream is the most bytes of objects packed together that are looked at.
	maxObjectStream = 16 << 20
)

// What is known of an object of a PDF file.
const (
	// isContent marks a stream or an array, which may be a page's content.
	isContent = 1 << iota
	// isNamed marks what a page names as its content.
	isNamed
)

// pdfCheck looks for damaged text in a PDF file: PDFium leaves out what it cannot unpack and reports
// no error. It finds objects by their keywords instead of the cross-reference table, so that it
// reads each byte once. A file that it does not understand is left to PDFium.
type pdfCheck struct {
	ctx  context.Context
	name string
	// objects are flags by the number of the object.
	objects []uint8
	// partial says that some objects were not understood.
	partial bool
	// left is how many bytes may still be unpacked.
	left int64
	in   *bufio.Reader
	// unpacker is a flate reader, buffer what it copies with.
	unpacker io.ReadCloser
	buffer   []byte
	// right and wrong count the checksums of streams; wrongObject is the first with a wrong one.
	right, wrong, wrongObject int
}

// checkPDF refuses a file with damaged or missing content of pages. It checks no encrypted file and
// no streams without text, such as images and fonts.
func checkPDF(ctx context.Context, name string, content []byte, limit int64) error {
	if bytes.Contains(content, []byte("/Encrypt")) {
		return nil
	}
	c := &pdfCheck{ctx: ctx, name: name, left: limit, in: bufio.NewReader(nil), unpacker: flate.NewReader(nil), buffer: make([]byte, 32<<10)}
	if err := c.file(content); err != nil {
		return err
	}
	// Some programs write no valid checksum at all.
	if c.wrong == 1 || c.wrong > 0 && c.right > 0 {
		return c.damaged(c.wrongObject, "does not match its checksum")
	}
	if missing := slices.Index(c.objects, isNamed); missing >= 0 && !c.partial {
		return c.damaged(missing, "is missing")
	}
	return nil
}

func (c *pdfCheck) damaged(object int, how string) error {
	return refuse("%s is damaged: content of its pages (object %d) %s; open it in the program that wrote it, save it again and send that", c.name, object, how)
}

// file checks all objects of a file.
func (c *pdfCheck) file(content []byte) error {
	keyword := []byte("obj")
	for {
		at := bytes.Index(content, keyword)
		if at < 0 {
			return nil
		}
		number, ok := objectNumber(content[:at])
		content = content[at+len(keyword):]
		if !ok {
			continue
		}
		d, rest := c.object(number, content)
		content = rest
		if line, ok := bytes.CutPrefix(skipSpace(content), []byte("stream")); d != nil && ok {
			c.mark(number, isContent)
			data, rest := d.stream(line)
			if err := c.stream(number, d, data); err != nil {
				return err
			}
			content = rest
		}
	}
}

// objectNumber returns the number of the object whose keyword follows the text: "12 0 " has 12.
func objectNumber(text []byte) (int, bool) {
	generation := bytes.TrimRight(text, pdfSpace)
	start := bytes.TrimRight(generation, "0123456789")
	before := bytes.TrimRight(start, pdfSpace)
	if len(start) == len(generation) || len(before) == len(start) {
		return 0, false
	}
	// More digits than a number has would be read again and again.
	before = before[max(0, len(before)-10):]
	number, err := strconv.Atoi(string(before[len(bytes.TrimRight(before, "0123456789")):]))
	return number, err == nil && number < maxPDFObject
}

func (c *pdfCheck) mark(number int, flag uint8) {
	if more := number + 1 - len(c.objects); more > 0 {
		c.objects = append(c.objects, make([]uint8, more)...)
	}
	c.objects[number] |= flag
}

// object looks at an object, and returns its dictionary, if it is one, and what follows.
func (c *pdfCheck) object(number int, content []byte) (*pdfDict, []byte) {
	body := skipSpace(content)
	switch {
	case bytes.HasPrefix(body, []byte("[")):
		c.mark(number, isContent)
	case bytes.HasPrefix(body, []byte("<<")):
		d, rest, ok := parsePDFDict(body)
		if !ok {
			c.partial = true
			return nil, rest
		}
		if string(d.kind) == "/Page" {
			c.pageContent(d.contents)
		}
		return d, rest
	}
	return nil, body
}

// pageContent marks the objects that a page names as its content: "5 0 R" or "[5 0 R 6 0 R]".
func (c *pdfCheck) pageContent(value []byte) {
	var previous [2][]byte
	for {
		var token []byte
		if token, value = nextPDFToken(value); token == nil {
			return
		}
		if string(token) == "R" {
			if number, err := strconv.Atoi(string(previous[0])); err == nil && number >= 0 && number < maxPDFObject {
				c.mark(number, isNamed)
			}
		}
		previous[0], previous[1] = previous[1], token
	}
}

// pdfFilters are the ways to pack a stream that PDFium knows.
var pdfFilters = map[string]bool{
	"/FlateDecode": true, "/Fl": true, "/LZWDecode": true, "/LZW": true, "/ASCII85Decode": true, "/A85": true, "/ASCIIHexDecode": true, "/AHx": true,
	"/RunLengthDecode": true, "/RL": true, "/DCTDecode": true, "/DCT": true, "/CCITTFaxDecode": true, "/CCF": true, "/JBIG2Decode": true, "/JPXDecode": true, "/Crypt": true,
}

// stream unpacks a stream that may hold text.
func (c *pdfCheck) stream(number int, d *pdfDict, data []byte) error {
	objects := string(d.kind) == "/ObjStm"
	if err := c.ctx.Err(); err != nil {
		return err
	}
	if !objects && string(d.subtype) != "/Form" && (d.other || d.count != nil || d.subtype != nil || d.kind != nil && string(d.kind) != "/CMap") {
		return nil
	}
	var filters []string
	for token, rest := nextPDFToken(d.filter); token != nil; token, rest = nextPDFToken(rest) {
		if token[0] != '/' {
			continue
		}
		// A # is the start of an escaped character.
		if !pdfFilters[string(token)] && !bytes.ContainsRune(token, '#') {
			return c.damaged(number, "is packed in an unknown way")
		}
		filters = append(filters, string(token))
	}
	var source io.Reader = bytes.NewReader(data)
	if len(filters) > 1 && (filters[0] == "/ASCII85Decode" || filters[0] == "/A85") {
		text, _, _ := bytes.Cut(bytes.TrimPrefix(skipSpace(data), []byte("<~")), []byte("~"))
		source, filters = ascii85.NewDecoder(bytes.NewReader(text)), filters[1:]
	}
	if len(filters) == 0 || filters[0] != "/FlateDecode" && filters[0] != "/Fl" || len(skipSpace(data)) == 0 {
		c.partial = c.partial || objects
		return nil
	}
	kept := &prefixWriter{}
	if objects && len(filters) == 1 && d.parms == nil {
		kept.left = maxObjectStream
	}
	err := c.unpack(number, source, kept)
	switch {
	case errors.Is(err, errTooLarge):
		return err
	case err != nil:
		return c.damaged(number, "cannot be unpacked to its end")
	case objects && kept.left <= 0:
		c.partial = true
	case objects:
		c.packedObjects(d, kept.content)
	}
	return nil
}

// unpack writes the content of a zlib stream. One that ends without its checksum is not damaged,
// and bytes after it are ignored.
func (c *pdfCheck) unpack(number int, source io.Reader, out io.Writer) error {
	c.in.Reset(source)
	var header [2]byte
	if _, err := io.ReadFull(c.in, header[:]); err != nil {
		return err
	}
	if header[0]&15 != 8 || header[1]&32 != 0 || binary.BigEndian.Uint16(header[:])%31 != 0 {
		return errors.New("no zlib header")
	}
	if err := c.unpacker.(flate.Resetter).Reset(c.in, nil); err != nil {
		return err
	}
	sum := adler32.New()
	limited := &limitedWriter{out: io.MultiWriter(sum, out), left: c.left}
	_, err := io.CopyBuffer(limited, c.unpacker, c.buffer)
	c.left = limited.left
	if err != nil {
		return err
	}
	// The end of a line before "endstream" may follow a checksum that was cut.
	rest, _ := io.ReadAll(io.LimitReader(c.in, 6))
	switch {
	case len(rest) >= 4 && binary.BigEndian.Uint32(rest) == sum.Sum32():
		c.right++
	case len(bytes.TrimRight(rest, "\r\n")) >= 4:
		if c.wrong++; c.wrong == 1 {
			c.wrongObject = number
		}
	}
	return nil
}

// packedObjects looks at the objects of an object stream: pairs of numbers and offsets, then the
// objects.
func (c *pdfCheck) packedObjects(d *pdfDict, content []byte) {
	first, err := strconv.Atoi(string(d.first))
	if err != nil || first < 0 || first > len(content) {
		c.partial = true
		return
	}
	var pairs [][2]int
	for header := content[:first]; ; {
		var number, offset []byte
		number, header = nextPDFToken(header)
		if offset, header = nextPDFToken(header); offset == nil {
			break
		}
		n, err1 := strconv.Atoi(string(number))
		at, err2 := strconv.Atoi(string(offset))
		if err1 != nil || err2 != nil || n < 0 || n >= maxPDFObject || at < 0 || at > len(content)-first {
			c.partial = true
			return
		}
		pairs = append(pairs, [2]int{at, n})
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return a[0] - b[0] })
	for i, pair := range pairs {
		end := len(content) - first
		if i+1 < len(pairs) {
			end = pairs[i+1][0]
		}
		c.object(pair[1], content[first+pair[0]:first+end])
	}
}

// prefixWriter keeps the first bytes that are written.
type prefixWriter struct {
	content []byte
	left    int
}

func (w *prefixWriter) Write(p []byte) (int, error) {
	kept := p[:min(len(p), w.left)]
	w.content, w.left = append(w.content, kept...), w.left-len(kept)
	return len(p), nil
}

// pdfDict has the values of a dictionary of a PDF file that say what an object is, as written.
type pdfDict struct {
	kind, subtype, filter, parms, length, contents, count, first []byte
	// other says that it has other keys.
	other bool
}

func (d *pdfDict) set(key, value []byte) {
	switch string(key) {
	case "/Type":
		d.kind = value
	case "/Subtype":
		d.subtype = value
	case "/Filter":
		d.filter = value
	case "/DecodeParms":
		d.parms = value
	case "/Length":
		d.length = value
	case "/Contents":
		d.contents = value
	case "/N":
		d.count = value
	case "/First":
		d.first = value
	case "/DL":
	default:
		d.other = true
	}
}

// parsePDFDict reads a dictionary, and returns what follows. It stops at a keyword that no
// dictionary has.
func parsePDFDict(text []byte) (d *pdfDict, rest []byte, ok bool) {
	d, rest = &pdfDict{}, text
	var key, value []byte
	for depth := 0; ; {
		token, after := nextPDFToken(rest)
		if token == nil {
			return nil, nil, false
		}
		switch string(token) {
		case "endobj", "obj", "stream", "endstream":
			return nil, rest, false
		case "<<", "[":
			depth++
		case ">>", "]":
			depth--
		}
		rest = after
		ended := depth <= 0
		switch {
		case ended || depth == 1 && token[0] == '/' && (key == nil || value != nil):
			if value != nil {
				d.set(key, value)
			}
			if ended {
				return d, rest, true
			}
			key, value = token, nil
		case key == nil:
		case value == nil:
			value = token
		default:
			// The value goes from the start of its first token to the end of this one.
			value = value[:cap(value)-cap(after)]
		}
	}
}

// stream returns the data of a stream, which start in the line after its keyword, and what
// follows.
func (d *pdfDict) stream(line []byte) (data, rest []byte) {
	keyword := []byte("endstream")
	if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
		data = line[end:]
		if bytes.HasPrefix(data, []byte("\r\n")) {
			data = data[1:]
		}
		data = data[1:]
	}
	if length, err := strconv.Atoi(string(d.length)); err == nil && length >= 0 && length <= len(data) {
		if after, ok := bytes.CutPrefix(skipSpace(data[length:]), keyword); ok {
			return data[:length], after
		}
	}
	data, rest, _ = bytes.Cut(data, keyword)
	return data, rest
}

const (
	pdfSpace  = "\x00\t\n\f\r "
	pdfDelims = "()<>[]{}/%"
)

func skipSpace(text []byte) []byte {
	return bytes.TrimLeft(text, pdfSpace)
}

// nextPDFToken returns the next token, nil at the end, and what follows it. A string and a name
// are tokens with their delimiters.
func nextPDFToken(text []byte) (token, rest []byte) {
	text = skipSpace(text)
	for len(text) > 0 && text[0] == '%' {
		text = skipSpace(text[lengthUntil(text, "\r\n"):])
	}
	if len(text) == 0 {
		return nil, nil
	}
	end := 1
	switch text[0] {
	case '(':
		end = stringLength(text)
	case '<', '>':
		switch {
		case len(text) > 1 && text[1] == text[0]:
			end = 2
		case text[0] == '<':
			end = min(len(text), lengthUntil(text, ">")+1)
		}
	case '/':
		end += lengthUntil(text[1:], pdfSpace+pdfDelims)
	case ')', '[', ']', '{', '}':
	default:
		end = lengthUntil(text, pdfSpace+pdfDelims)
	}
	return text[:end], text[end:]
}

// lengthUntil returns the number of bytes before the first one of a set.
func lengthUntil(text []byte, set string) int {
	for i, b := range text {
		if strings.IndexByte(set, b) >= 0 {
			return i
		}
	}
	return len(text)
}

// stringLength returns the length of the string at the start, with its nested parentheses.
func stringLength(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
