package serve

import (
	"io"
	"log/slog"

	"parley/internal/slogctx"
)

// newLogger makes the program's logger. Its lines carry what the context knows.
func newLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if format == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(slogctx.Handler{Handler: handler})
}
