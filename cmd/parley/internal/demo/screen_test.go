package demo

import (
	"testing"
)

func TestProgramName(t *testing.T) {
	t.Setenv("GOCACHE", "/caches/go")
	for _, test := range [][3]string{
		{"/usr/bin/parley", "parley", "parley"},
		{"/home/ann/parley", "./parley", "./parley"},
		{"/home/ann/my tools/parley", "/home/ann/my tools/parley", "'/home/ann/my tools/parley'"},
		{"/it's/parley", "/it's/parley", `'/it'\''s/parley'`},
		{"/tmp/go-build123/b001/exe/parley", "/tmp/go-build123/b001/exe/parley", "go run parley/cmd/parley"},
		{"/caches/go/ab/abcd-d/parley", "/caches/go/ab/abcd-d/parley", "go run parley/cmd/parley"},
	} {
		if got := programName(test[0], test[1]); got != test[2] {
			t.Errorf("%s is typed as %s, want %s", test[0], got, test[2])
		}
	}
}
