// Command measure runs the reader on the questions of suites and reports its accuracy, with
// the tables in an in-process DuckDB.
//
//	measure WEIGHTS PART DIR[=SET]...
//
// PART is train, dev, validation or all. With RESULTS=FILE it writes a line for each
// question, which calibrate reads; of validation questions without their text. With
// EXAMPLES=FILE it writes the right readings of training questions, as examples to
// train on again.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"parley/llm/reader/net"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/outcome"
)

func main() {
	log.SetFlags(0)
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	n, err := net.Load(file)
	if err != nil {
		log.Fatal(err)
	}
	all, err := askAll(n, jobsOf(os.Args[2], os.Args[3:]))
	if err != nil {
		log.Print(err)
	}
	report(all)
	for variable, write := range map[string]func(*json.Encoder, *outcome.Outcome) error{"RESULTS": writeResult, "EXAMPLES": writeExample} {
		if path := os.Getenv(variable); path != "" {
			if err := writeAll(path, all, write); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// job is a database with its questions.
type job struct{ set, name, dir string }

func jobsOf(part string, args []string) []job {
	var jobs []job
	for _, arg := range args {
		dir, set, _ := strings.Cut(arg, "=")
		entries, err := os.ReadDir(dir)
		if err != nil {
			log.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() && isPart(set+"/"+e.Name(), part) {
				jobs = append(jobs, job{set, e.Name(), filepath.Join(dir, e.Name())})
			}
		}
	}
	return jobs
}

func isPart(name, part string) bool {
	return part == "all" || dataset.Part(name) == part
}

// askAll processes a database for each processor at a time; outcomes are in the order of the jobs. The
// error joins those of all jobs.
func askAll(n *net.Net, jobs []job) ([]outcome.Outcome, error) {
	results := make([][]outcome.Outcome, len(jobs))
	errs := make([]error, len(jobs))
	var wait sync.WaitGroup
	queue := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := range queue {
				results[i], errs[i] = database(n, jobs[i])
			}
		})
	}
	for i := range jobs {
		queue <- i
	}
	close(queue)
	wait.Wait()
	var all []outcome.Outcome
	for _, r := range results {
		all = append(all, r...)
	}
	return all, errors.Join(errs...)
}

func writeAll(path string, all []outcome.Outcome, write func(*json.Encoder, *outcome.Outcome) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for i := range all {
		if err := write(e, &all[i]); err != nil {
			return err
		}
	}
	return f.Close()
}

// writeResult writes an outcome, without texts for validation questions.
func writeResult(e *json.Encoder, o *outcome.Outcome) error {
	shown := *o
	if dataset.Part(o.Set+"/"+o.Database) == dataset.Validation {
		shown.Question, shown.Readings = "", slices.Clone(o.Readings)
		for i := range shown.Readings {
			shown.Readings[i].SQL, shown.Readings[i].Unread = "", nil
		}
	}
	return e.Encode(shown)
}

// writeExample writes the first right reading of a training question.
func writeExample(e *json.Encoder, o *outcome.Outcome) error {
	name := o.Set + "/" + o.Database
	if dataset.Part(name) != dataset.Train || o.Follows {
		return nil
	}
	for _, r := range o.Readings {
		if r.Right {
			example, err := dataset.NewExample(name, o.Question, nil, r.Query)
			if err != nil {
				return nil // not every reading can be written down
			}
			return e.Encode(example)
		}
	}
	return nil
}
