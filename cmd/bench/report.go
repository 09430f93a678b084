package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// report has the figures and the machine.
type report struct {
	Date     time.Time `json:"date"`
	Seconds  int       `json:"seconds"`
	Quick    bool      `json:"quick,omitempty"`
	Machine  machine   `json:"machine"`
	Versions []version `json:"versions"`
	Failures []string  `json:"failures,omitempty"`
	Figures  figures   `json:"figures"`
}

const reportFile = "report.json"

func readReport(dir string) (r report, err error) {
	content, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	return r, err
}

// write writes the report: figures as JSON, text, plots.
func (r report) write(dir string) error {
	files, err := r.files()
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
		}
	}
	return err
}

func (r report) files() (map[string]string, error) {
	content, err := json.MarshalIndent(r, "", " ")
	files := map[string]string{reportFile: string(content) + "\n", "README.md": r.markdown()}
	for _, c := range chapters {
		for _, g := range c.growths {
			files[g.file+".svg"] = g.svg(r.Figures)
		}
	}
	return files, err
}

func (r report) markdown() string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("# How fast Parley is\n")
	line("`task bench` measured this and wrote it; [report.json](report.json) has all figures. Those that are compared were measured in")
	line("turns, in the same run.\n")
	r.where(line)
	line("\n## Numbers to hold\n")
	line("| what | against | bound | measured | holds |\n|---|---|---|---|---|")
	for _, h := range numbers {
		measured, holds := h.verdict(r.Figures)
		line("| %s | %s | %s | %s | %s |", h.work, h.against, h.bound(), measured, holds)
	}
	for _, c := range chapters {
		line("\n## %s", c.title)
		for _, g := range c.growths {
			line("\n### %s\n\n![%s, in %s, by %s](%s.svg)\n", g.title, g.title, g.unit, g.axis, g.file)
			line("%s\n", g.sentence(r.Figures))
			g.table(r.Figures, line)
		}
	}
	r.peers(line)
	return text.String()
}

// where has the date, the machine and the versions.
func (r report) where(line func(format string, args ...any)) {
	known := func(text string) string { return cmp.Or(text, "unknown") }
	line("| | |\n|---|---|")
	line("| date | %s, for %v |", r.Date.Format("2006-01-02 15:04 MST"), time.Duration(r.Seconds)*time.Second)
	line("| machine | %s, %d cores, %s |", known(r.Machine.CPU), r.Machine.Cores, known(r.Machine.Memory))
	line("| kernel | %s |", known(r.Machine.Kernel))
	line("| load when it began | %s |", known(r.Machine.Load))
	for _, v := range r.Versions {
		line("| %s | %s |", v.Name, known(v.Version))
	}
	if r.Quick {
		line("\nOnly the usual sizes were measured (`--quick`).")
	}
	for i, failure := range r.Failures {
		if i == 0 {
			line("\nThese failed, and what they measure is missing below:\n")
		}
		line("- %s", failure)
	}
}

// table lists the values at each size.
func (g growth) table(all figures, line func(format string, args ...any)) {
	values, sizes := map[string]map[float64]float64{}, sizesOf(g, all)
	head, rule := "| "+g.axis+" |", "|---:|"
	for _, s := range g.series {
		head, rule = head+" "+s.name+" |", rule+"---:|"
		values[s.name] = map[float64]float64{}
		for _, p := range all.points(s.pick, g.axis) {
			values[s.name][p.size] = p.value
		}
	}
	line("%s\n%s", head, rule)
	for _, size := range sizes {
		row := "| " + short(size) + " |"
		for _, s := range g.series {
			shown := "–"
			if value, ok := values[s.name][size]; ok {
				shown = number(value)
			}
			row += " " + shown + " |"
		}
		line("%s", row)
	}
}

// peers compares the servers at one size.
func (r report) peers(line func(format string, args ...any)) {
	at := func(unit string) func(name string) string {
		return func(name string) string {
			value, ok := r.Figures.value(pick{"AgainstSDK", streaming, name + unit})
			if !ok {
				return "not measured"
			}
			return number(value)
		}
	}
	rate, cpu, first := at("-runs/s"), at("-cpu-µs"), at("-first-µs")
	line("\n## Peers\n")
	line("Streams of an agent of four events, 32 clients in a process of their own. Parley has every event on disk before it is sent; the")
	line("others keep them in memory. The work of PostgreSQL itself is not in the CPU.\n")
	line("| server | streams/s | CPU of a stream, µs | first event, p50, µs |\n|---|---:|---:|---:|")
	for _, c := range []struct{ name, title string }{
		{"sqlite", "Parley, SQLite"}, {"postgres", "Parley, PostgreSQL"},
		{"sdk", "the default handler of a2a-go"}, {"express", "Express with @a2a-js/sdk"},
	} {
		line("| %s | %s | %s | %s |", c.title, rate(c.name), cpu(c.name), first(c.name))
	}
	line("\nDuckDB alone and bare gin are in the tables above.")
}
