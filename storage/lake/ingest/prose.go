package ingest

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ReadProse gives the text of a source that is plain text or Markdown, checked
// as it would be for passages, for rows to be extracted from it. Another source,
// or one that cannot be told, is none: ok is false. A text of more than most
// bytes, unpacked, is refused.
func ReadProse(ctx context.Context, source Source, most int64) (text string, ok bool, err error) {
	file, err := os.Open(source.Path)
	if err != nil {
		return "", false, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	packed := bufio.NewReader(file)
	in := io.Reader(packed)
	if head, _ := packed.Peek(3); isGzip(head) {
		unzip, err := gzip.NewReader(packed)
		if err != nil {
			return "", false, nil //nolint:nilerr // whoever ingests it says what is wrong with it
		}
		in = &contextReader{ctx, unzip}
	} else if trimGzip(source.Name) != source.Name {
		return "", false, nil
	}
	content := bufio.NewReaderSize(in, headSize)
	head, err := content.Peek(headSize)
	if err != nil && err != io.EOF {
		return "", false, nil //nolint:nilerr // the same
	}
	format, err := sniff(source.Name, head)
	if err != nil || format != formatText && format != formatMarkdown {
		return "", false, nil //nolint:nilerr // the same
	}
	var all strings.Builder
	limited := &io.LimitedReader{R: content, N: most + 1}
	var broken *gzipError
	err = eachLine(ctx, limited, source.Name, func(line []byte, _ int) error {
		all.Write(line)
		return nil
	})
	switch {
	case limited.N <= 0:
		return "", true, refuse("%s is longer than %d bytes, the most that rows are extracted from; split it", source.Name, most)
	case ctx.Err() != nil:
		return "", true, ctx.Err()
	case errors.As(err, &broken):
		return "", true, refuse("%s is damaged: it does not unpack to its end", source.Name)
	case err != nil:
		return "", true, err
	}
	return all.String(), true, nil
}

// SplitProse cuts a text into pieces of at most size bytes: between paragraphs,
// lines or words, whichever there are in the second half of a piece.
func SplitProse(text string, size int) []string {
	var pieces []string
	for len(text) > size {
		cut := len(trimPartialRune([]byte(text[:size])))
		for _, gap := range []string{"\n\n", "\n", " "} {
			if at := strings.LastIndex(text[:size], gap); at >= size/2 {
				cut = at + len(gap)
				break
			}
		}
		pieces = append(pieces, text[:cut])
		text = text[cut:]
	}
	if strings.TrimSpace(text) != "" {
		pieces = append(pieces, text)
	}
	return pieces
}
