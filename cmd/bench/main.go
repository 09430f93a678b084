// Command bench measures Parley and its peers in the same run, and writes a report: the
// limits that Parley must keep, and how the figures grow. The measurements are benchmarks
// of the packages; this program runs them and draws what they print.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/alecthomas/kong"
)

// arguments is the command line.
type arguments struct {
	Out   string `help:"Folder of the report." default:"docs/bench" type:"path"`
	Quick bool   `help:"Measure only the sizes that every change is tried with."`
	Draw  bool   `help:"Measure nothing: draw the report anew from its figures."`
	Only  string `arg:"" optional:"" help:"Run only the benchmarks whose name matches this regular expression, and write no report."`
}

func main() {
	var args arguments
	cli := kong.Parse(&args, kong.Name("bench"), kong.Description("Measures Parley and its peers, and writes a report."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, args)
	stop()
	cli.FatalIfErrorf(err)
}

func run(ctx context.Context, args arguments) error {
	if args.Draw {
		r, err := readReport(args.Out)
		if err != nil {
			return err
		}
		return r.write(args.Out)
	}
	chosen, err := choose(args.Only)
	if err != nil {
		return err
	}
	began := time.Now()
	r := report{Date: began.UTC().Truncate(time.Second), Quick: args.Quick, Machine: thisMachine(), Versions: versions(ctx)}
	r.Figures, r.Failures = measure(ctx, chosen, args.Quick)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Seconds = int(time.Since(began).Seconds())
	fmt.Printf("\nmeasured for %v\n", time.Since(began).Round(time.Second))
	if args.Only == "" {
		if err := r.write(args.Out); err != nil {
			return err
		}
		fmt.Printf("the report is in %s\n", args.Out)
	}
	if len(r.Failures) > 0 {
		return fmt.Errorf("%d of %d benchmarks failed", len(r.Failures), len(chosen))
	}
	return nil
}
