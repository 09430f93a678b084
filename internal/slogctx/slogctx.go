// Package slogctx adds attributes of the context to log lines, such as the ids of the
// request and the run.
package slogctx

import (
	"context"
	"log/slog"
	"slices"
)

type key struct{}

// With returns a context whose log lines have attrs too.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	return context.WithValue(ctx, key{}, slices.Concat(from(ctx), attrs))
}

func from(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(key{}).([]slog.Attr)
	return attrs
}

// Handler adds the context's attributes to the records that it passes on.
type Handler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h Handler) Handle(ctx context.Context, record slog.Record) error {
	record.AddAttrs(from(ctx)...)
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return Handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h Handler) WithGroup(name string) slog.Handler { return Handler{h.Handler.WithGroup(name)} }
