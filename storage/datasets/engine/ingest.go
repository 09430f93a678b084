package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/duckdb/duckdb-go/v2"

	"parley/internal/disk"
	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/ingest/source"
	"parley/storage/datasets/sandbox"
)

// progressEvery is the interval between progress messages.
const progressEvery = 200 * time.Millisecond

// IngestMain runs an ingest worker's process, for one job. It returns the exit status.
func IngestMain() int { return sandbox.ServeIngest(answerIngest) }

func answerIngest(request sandbox.IngestRequest, progress func(ingest.Progress)) sandbox.IngestReply {
	source.UseCompiled(request.Programs)
	if request.Compile {
		if err := source.Compile(request.OutDir); err != nil {
			return sandbox.IngestReply{Fault: err.Error()}
		}
		return sandbox.IngestReply{}
	}
	if err := sandbox.LimitIngest(request.Memory, request.Threads); err != nil {
		return sandbox.IngestReply{Fault: fmt.Sprintf("limit an ingest worker: %v", err)}
	}
	if request.ListParts || request.ListSeveral || request.MaxText > 0 {
		reply := openSource(context.Background(), request)
		if !request.ListSeveral || len(reply.Parts) > 1 || reply.Refused != "" || reply.Fault != "" {
			return reply
		}
	}
	result, err := ingestFiles(context.Background(), request, throttled(progress))
	if err != nil {
		return refusalOf(request, err)
	}
	return sandbox.IngestReply{Result: &result}
}

// openSource lists the parts of a source, or writes its text: neither needs DuckDB.
func openSource(ctx context.Context, request sandbox.IngestRequest) (reply sandbox.IngestReply) {
	var err error
	if request.MaxText == 0 {
		reply.Parts, err = ingest.Parts(ctx, request.Sources[0], request.OutDir)
	} else {
		reply.Text, err = ingest.Text(ctx, request.Sources[0], request.Options, request.OutDir, request.MaxText)
	}
	if err != nil {
		return refusalOf(request, err)
	}
	return reply
}

// refusalOf returns the reply for an error.
func refusalOf(request sandbox.IngestRequest, err error) sandbox.IngestReply {
	var refusal *domain.Error
	switch {
	case errors.As(err, &refusal) && errors.Is(err, domain.ErrInvalid):
		return sandbox.IngestReply{Refused: refusal.Message}
	case request.Export.Format != "" && lacksMemory(err) && !errors.Is(err, syscall.ENOSPC):
		return sandbox.IngestReply{Refused: sandbox.ExportNeedsMemory}
	case len(request.Files) == 0 && lacksMemory(err) && !errors.Is(err, syscall.ENOSPC):
		return sandbox.IngestReply{Refused: "this takes more memory, or more of the disk, than it may use; try it in smaller files"}
	}
	return sandbox.IngestReply{Fault: err.Error()}
}

// throttled limits the rate of progress messages.
func throttled(send func(ingest.Progress)) func(ingest.Progress) {
	var last time.Time
	return func(p ingest.Progress) {
		if now := time.Now(); now.Sub(last) >= progressEvery {
			last = now
			send(p)
		}
	}
}

// InitialMemoryLimit is enough for nearly every file, at no loss of speed: DuckDB takes
// more if allowed.
const InitialMemoryLimit = 80 << 20

// ingestFiles ingests with little memory first, then with all that is allowed, on one thread.
func ingestFiles(ctx context.Context, request sandbox.IngestRequest, progress func(ingest.Progress)) (result ingest.Result, err error) {
	allowed := request.Memory
	request.Memory = min(allowed, InitialMemoryLimit)
	result, err = ingestWithin(ctx, request, progress)
	if err != nil && request.Memory < allowed && lacksMemory(err) {
		// Each thread reads and writes values of its own, and what DuckDB uses is not Go's.
		request.Memory, request.Threads = allowed, 1
		debug.SetMemoryLimit(sandbox.MaxIngestMemory / 4)
		debug.FreeOSMemory()
		result, err = ingestWithin(ctx, request, progress)
	}
	return result, err
}

// lacksMemory reports whether DuckDB needed more memory, or disk to spill, than allowed.
func lacksMemory(err error) bool {
	var failed *duckdb.Error
	return errors.As(err, &failed) && newFault(failed.Msg, sandbox.FaultQuery).Kind == sandbox.FaultMemory
}

// spillFull reports whether DuckDB needed more disk to spill than allowed.
func spillFull(err error) bool {
	return lacksMemory(err) && strings.Contains(err.Error(), "max_temp_directory_size")
}

const (
	// DuckDB may spill minSpill bytes, and spillRatio for each byte that it reads.
	minSpill   = 1 << 30
	spillRatio = 4
)

// spillLimit is how many bytes DuckDB may spill: by the size of its input, and at most an
// equal share, among all jobs, of half the free disk. byDisk reports whether that share is
// the limit.
func spillLimit(request sandbox.IngestRequest) (limit int64, byDisk bool, err error) {
	var size int64
	for _, path := range request.Reads() {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false, fmt.Errorf("look at a source: %w", err)
		}
		size += info.Size()
	}
	free, err := disk.Free(request.OutDir)
	if err != nil {
		return 0, false, fmt.Errorf("look at the disk: %w", err)
	}
	limit, share := minSpill+spillRatio*size, free/2/int64(request.Jobs)
	return min(limit, share), share < limit, nil
}

func ingestWithin(ctx context.Context, request sandbox.IngestRequest, progress func(ingest.Progress)) (result ingest.Result, err error) {
	spill, byDisk, err := spillLimit(request)
	if err != nil {
		return ingest.Result{}, err
	}
	db, err := openIngest(ctx, request, spill)
	if err != nil {
		return ingest.Result{}, err
	}
	// The process ends after a success, and what DuckDB spilled goes with the folder.
	defer func() {
		if err == nil {
			return
		}
		if err = errors.Join(err, db.Close()); byDisk && spillFull(err) {
			err = fmt.Errorf("%w: %w", syscall.ENOSPC, err)
		}
	}()
	if request.Export.Format != "" {
		return export(ctx, db, request)
	}
	if len(request.Files) > 0 {
		file, err := ingest.Compact(ctx, db, request.Files, request.Columns, request.OutDir)
		return ingest.Result{Files: []ingest.File{file}, Columns: request.Columns, Rows: file.Rows}, err
	}
	result, err = ingest.Run(ctx, db, ingest.Job{
		Sources: request.Sources, Rows: request.Rows, Options: request.Options, Have: request.Have, OutDir: request.OutDir, Progress: progress,
	})
	if err != nil {
		return ingest.Result{}, err
	}
	// The rows are there: without a profile, nothing is lost.
	profile, err := ingest.Profile(ctx, db, result.Files, result.Columns)
	if err != nil {
		result.ProfileFault = err.Error()
		return result, nil
	}
	result.Profile = &profile
	result.Report.Warnings = append(result.Report.Warnings, ingest.AlikeTexts(profile)...)
	return result, nil
}

// readInParts is what to do about a dataset that is too large for one file.
const readInParts = "read the rows in parts with queries"

// export writes the rows of files into one file. All jobs together take at most half of the
// free disk.
func export(ctx context.Context, db *sql.DB, request sandbox.IngestRequest) (ingest.Result, error) {
	free, err := disk.Free(request.OutDir)
	if err != nil {
		return ingest.Result{}, fmt.Errorf("look at the disk: %w", err)
	}
	limit := min(request.MaxBytes, free/2/int64(request.Jobs))
	if err := sandbox.LimitFileSize(limit); err != nil {
		return ingest.Result{}, fmt.Errorf("limit the size of a file: %w", err)
	}
	path, err := ingest.Export(ctx, db, request.Files, request.Columns, request.Filter, request.Export, request.OutDir)
	if err != nil && limit == request.MaxBytes && strings.Contains(strings.ToLower(err.Error()), "file too large") {
		err = domain.Errorf(domain.ErrInvalid, "the file would be larger than %d MiB; %s", limit>>20, readInParts)
	}
	return ingest.Result{Files: []ingest.File{{Path: path}}}, err
}

// openIngest opens DuckDB with local files and without extensions.
func openIngest(ctx context.Context, request sandbox.IngestRequest, spill int64) (*sql.DB, error) {
	db, err := sql.Open("duckdb", "?autoinstall_known_extensions=false&autoload_known_extensions=false&allow_community_extensions=false")
	if err != nil {
		return nil, fmt.Errorf("open DuckDB: %w", err)
	}
	db.SetMaxOpenConns(2) // as many as a profile uses
	for _, setting := range []string{
		fmt.Sprintf("SET memory_limit = '%dB'", request.Memory),
		fmt.Sprintf("SET threads = %d", request.Threads),
		"SET GLOBAL TimeZone = 'UTC'",
		"SET temp_directory = " + sqltext.Text(filepath.Join(request.OutDir, ".spill")),
		fmt.Sprintf("SET max_temp_directory_size = '%dB'", spill),
		"SET lock_configuration = true",
	} {
		if _, err := db.ExecContext(ctx, setting); err != nil {
			return nil, errors.Join(fmt.Errorf("set DuckDB up: %w", err), db.Close())
		}
	}
	return db, nil
}
