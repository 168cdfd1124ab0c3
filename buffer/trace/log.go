package trace

import (
	"context"
	"log/slog"

	"github.com/go-halyard/halyard/buffer"
)

// Log writes every event of every buffer to the logger, at level debug, until stop is called. Sizes are
// in bytes.
func Log(l *slog.Logger) (stop func()) {
	return buffer.Observe(func(e buffer.Event) {
		ctx := context.Background()
		if !l.Enabled(ctx, slog.LevelDebug) {
			return
		}
		attrs := []slog.Attr{slog.Uint64("buffer", e.Buffer), slog.String("at", e.To)}
		if e.Kind == buffer.EventCopy {
			attrs = append(attrs, slog.String("from", e.From), slog.String("sources", e.Sources.String()))
		}
		attrs = append(attrs, slog.Uint64("lo", e.Lo), slog.Uint64("hi", e.Hi))
		if e.Cause != "" {
			attrs = append(attrs, slog.String("cause", e.Cause))
		}
		if e.Took > 0 {
			attrs = append(attrs, slog.Duration("took", e.Took))
		}
		l.LogAttrs(ctx, slog.LevelDebug, "halyard: "+e.Kind.String(), attrs...)
	})
}
