package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// benchmark is a benchmark and its -benchtime.
type benchmark struct{ folder, name, time string }

// benchmarks are those of the report, in their order.
var benchmarks = []benchmark{
	{"a2aserver", "AgainstSDK", "4x"},
	{"a2aserver", "Bindings", "4x"},
	{"a2aserver", "IdleStreams", "1x"},
	{"rest", "ConversationRead", "20000x"},
	{"storage/sqlstore", "Append", "4000x"},
	{"storage/sqlstore", "Log", "1x"},
	{"storage/datasets/ingest", "CSV", "1x"},
	{"cmd/parley/e2e/server", "IdleServe", "1x"},
	{"cmd/parley/e2e/server", "Ask", "3x"},
	{"cmd/parley/e2e/server", "Flood", "3x"},
}

func choose(only string) (chosen []benchmark, err error) {
	matches, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, b := range benchmarks {
		if matches.MatchString(b.name) {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) == 0 {
		err = fmt.Errorf("no benchmark is named like %q", only)
	}
	return chosen, err
}

// measure runs benchmarks, prints the progress, and returns the figures and the failures.
func measure(ctx context.Context, chosen []benchmark, quick bool) (all figures, failures []string) {
	for i, b := range chosen {
		fmt.Printf("\n[%d/%d] %s in %s\n", i+1, len(chosen), b.name, b.folder)
		began := time.Now()
		got, err := b.run(ctx, quick)
		all = append(all, got...)
		if err != nil {
			fmt.Printf("        FAILED: %v\n", err)
			failures = append(failures, fmt.Sprintf("%s in %s: %v", b.name, b.folder, err))
		}
		fmt.Printf("        %v\n", time.Since(began).Round(time.Second))
		if ctx.Err() != nil {
			break
		}
	}
	return all, failures
}

// run runs a benchmark and returns its figures, also those before a failure.
func (b benchmark) run(ctx context.Context, quick bool) (all figures, err error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-tags", "parleybench", "-run", "^$", "-bench", "^Benchmark"+b.name+"$", "-benchtime", b.time, "-timeout", "1h", "./"+b.folder)
	if !quick {
		cmd.Env = append(os.Environ(), "PARLEY_BENCH=full")
	}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var other []string
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		f, ok := parse(b.folder, lines.Text())
		if !ok {
			other = append(other, lines.Text())
			continue
		}
		fmt.Printf("        %s\n", f)
		all = append(all, f)
	}
	if err := cmd.Wait(); err != nil {
		fmt.Println(strings.Join(other, "\n"))
		return all, err
	}
	if len(all) == 0 {
		return nil, errors.New("it printed no figure")
	}
	return all, nil
}
