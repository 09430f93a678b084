package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// Download is `parley download DATASET`.
type Download struct {
	Dataset string `arg:"" placeholder:"[OWNER/]NAMESPACE/NAME" help:"The dataset."`
	Format  string `env:"-" short:"f" default:"csv" enum:"csv,parquet" placeholder:"FORMAT" help:"The format of the file: csv or parquet (${default})."`
	Output  string `env:"-" short:"o" placeholder:"FILE" help:"The file to write, which must not exist, or - for standard output. By default, NAME.FORMAT in this folder."`
	connectionSettings
}

// Run writes all rows of the dataset into a file.
func (d *Download) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	ref, err := apiclient.ParseDataset(d.Dataset)
	if err != nil {
		c.Add("DATASET " + err.Error())
	}
	output := cmp.Or(d.Output, ref.Name+"."+d.Format)
	if _, err := os.Lstat(output); output != "-" && err == nil {
		c.Refuse("output", "must name a new file: %s exists", output)
	}
	terminal := output == "-" && console.StyleOf(env.Stdout).Terminal()
	if terminal && d.Format != "csv" {
		c.Refuse("output", "must name a file: %s is not for a terminal", d.Format)
	}
	client, err := d.connect(c)
	if err != nil {
		return err
	}
	body, size, err := client.Download(ctx, ref.Path("/data")+"/download?format="+d.Format)
	if err == nil {
		defer body.Close()
		switch {
		case terminal:
			err = console.CopyText(env.Stdout, body)
		case output == "-":
			_, err = io.Copy(env.Stdout, body)
		default:
			err = save(env, ref.String(), output, body, size)
		}
	}
	if err != nil {
		return fmt.Errorf("download %s: %w", ref, err)
	}
	return nil
}

// save writes a download under another name first: a file of its name is complete. Two
// downloads do not write one file.
func save(env command.Env, what, output string, body io.Reader, size int64) (err error) {
	partial := output + ".partial"
	file, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: another download writes it, or was killed; then remove it", partial)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	copied, err := copyBody(env, "downloading "+what, file, body, size)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial, output); err != nil {
		return err
	}
	fmt.Fprintf(env.Stderr, "%s: %s\n", console.Line(output), console.Bytes(copied))
	return nil
}

// copyBody writes the body of a response into a file and shows the progress.
func copyBody(env command.Env, what string, file io.Writer, body io.Reader, size int64) (copied int64, err error) {
	counted := &countingReader{Reader: body}
	meter := console.StartMeter(env.Stderr, what, "received", size, func() (done, fresh int64) {
		return counted.bytes.Load(), counted.bytes.Load()
	})
	defer meter.Stop()
	return io.Copy(file, counted)
}

// countingReader counts what was read.
type countingReader struct {
	io.Reader
	bytes atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.bytes.Add(int64(n))
	return n, err
}
