//go:build !race

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/llm/reader/net"
)

// questionsEach is how many questions are asked about each database.
var questionsEach = fulltest.Count(3, 8)

const (
	// mostAsked is how many questions the asker may be asked to choose a reading of, in
	// percent: more would be a nuisance.
	mostAsked = 6
)

// TestFloor asks some questions of databases that nothing was trained or fitted on: of
// those for validation, and of the everyday ones. It shows none of them. Race builds leave
// it out, since the network is slow there and runs in few goroutines.
func TestFloor(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile(filepath.Join("..", "..", "weights.bin"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := net.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var own []string
	for _, name := range []string{"own", "everyday"} {
		unpack(t, filepath.Join("..", "data", name+".tar.gz"), filepath.Join(dir, name))
	}
	authors, err := os.ReadDir(filepath.Join(dir, "own"))
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range authors {
		own = append(own, filepath.Join(dir, "own", a.Name())+"=own/"+a.Name())
	}
	for _, test := range []struct {
		name string
		jobs []job
		// The least share of right readings and of right answers among those that are
		// given, and the most questions without an answer that get one, in percent.
		right, precise, unanswerable int
	}{
		{"validation", jobsOf("validation", own), 63, 84, 10},
		{"everyday", jobsOf("all", []string{filepath.Join(dir, "everyday") + "=everyday"}), 66, 84, 12},
	} {
		if len(test.jobs) == 0 {
			t.Fatalf("%s: no databases", test.name)
		}
		all, err := askAll(n, test.jobs)
		if err != nil {
			t.Error(err)
		}
		f := count(all)
		if asked := f.asked + f.none; 100*f.chosen > mostAsked*asked {
			t.Errorf("%s: %d of %d questions are asked back about", test.name, f.chosen, asked)
		}
		t.Logf("%s: %d are asked back about, %d of them with the right reading", test.name, f.chosen, f.offered)
		t.Logf("%s: of %d questions %d are read right; %d are answered, %d of them right; %d of %d without an answer are answered",
			test.name, f.asked, f.right, f.answered, f.precise, f.answeredNone, f.none)
		if 100*f.right < test.right*f.asked || 100*f.precise < test.precise*f.answered || 100*f.answeredNone > test.unanswerable*f.none {
			t.Errorf("%s: less than %d %% right, %d %% of answers right, or more than %d %% of questions without an answer answered", test.name, test.right, test.precise, test.unanswerable)
		}
	}
}

// sample takes some lines from all parts of a file.
func sample(lines [][]byte) []byte {
	var taken [][]byte
	for i := range questionsEach {
		taken = append(taken, lines[i*len(lines)/questionsEach])
	}
	return bytes.Join(taken, []byte("\n"))
}

// unpack writes the files of an archive, of questions a sample.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(head.Name, "questions.jsonl") {
			text = sample(bytes.Split(bytes.TrimSpace(text), []byte("\n")))
		}
		path := filepath.Join(dir, filepath.FromSlash(head.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
