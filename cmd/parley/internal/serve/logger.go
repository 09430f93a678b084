package serve

import (
	"io"
	"log/slog"

	"parley/internal/slogctx"
)

// newLogger returns a logger that adds the attributes of the context.
func newLogger(w io.Writer, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var handler slog.Handler = slog.NewTextHandler(w, options)
	if format == "json" {
		handler = slog.NewJSONHandler(w, options)
	}
	return slog.New(slogctx.Handler{Handler: handler})
}
