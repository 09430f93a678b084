// Command measure asks the reader the questions of suites and says how many it gets
// right, with the tables in DuckDB in this process.
//
//	measure WEIGHTS PART DIR[=SET]...
//
// PART is train, dev, validation or all. With RESULTS=FILE it writes a line for each
// question, which calibrate reads; of validation questions without their text.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"
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
	all := askAll(n, jobsOf(os.Args[2], os.Args[3:]))
	report(all)
	if path := os.Getenv("RESULTS"); path != "" {
		if err := write(path, all); err != nil {
			log.Fatal(err)
		}
	}
}

// job is a database to ask about.
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
			if e.IsDir() && (part == "all" || dataset.Part(set+"/"+e.Name()) == part) {
				jobs = append(jobs, job{set, e.Name(), filepath.Join(dir, e.Name())})
			}
		}
	}
	return jobs
}

// askAll asks about two databases at a time; outcomes are in the order of the jobs.
func askAll(n *net.Net, jobs []job) []outcome.Outcome {
	results := make([][]outcome.Outcome, len(jobs))
	var wait sync.WaitGroup
	queue := make(chan int)
	for range 2 {
		wait.Go(func() {
			for i := range queue {
				got, err := database(n, jobs[i])
				if err != nil {
					log.Print(jobs[i].dir, ": ", err)
				}
				results[i] = got
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
	return all
}

func write(path string, all []outcome.Outcome) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	e := json.NewEncoder(f)
	for _, o := range all {
		if dataset.Part(o.Set+"/"+o.Database) == dataset.Validation {
			o.Question = ""
			for i := range o.Readings {
				o.Readings[i].SQL = ""
			}
		}
		if err := e.Encode(o); err != nil {
			return err
		}
	}
	return f.Close()
}
