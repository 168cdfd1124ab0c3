package trace

import (
	"context"
	"log/slog"

	"github.com/go-halyard/halyard/buffer"
)

// levelAccess is the level of the two events that every access can cause: its end, and bytes that needed no copy.
const levelAccess = slog.LevelDebug - 4

// Log writes every event of every buffer to the logger until stop is called: copies, fills, replicas that
// are allocated and freed, evictions and waits at slog.LevelDebug, accesses at
// slog.LevelDebug-4. The message is
// "halyard: " and the kind; sizes are in bytes. A record about a simulated device has simulated=true.
func Log(l *slog.Logger) (stop func()) {
	return buffer.Observe(func(e buffer.Activity) {
		level := slog.LevelDebug
		if e.Kind == buffer.ActivityUse || e.Kind == buffer.ActivityAvoided {
			level = levelAccess
		}
		ctx := context.Background()
		if !l.Enabled(ctx, level) {
			return
		}
		attrs := make([]slog.Attr, 0, 16)
		attrs = append(attrs, slog.Uint64("buffer", e.Buffer), slog.String("at", e.To))
		if e.Name != "" {
			attrs = append(attrs, slog.String("name", e.Name))
		}
		if e.Kind == buffer.ActivityCopy {
			attrs = append(attrs, slog.String("from", e.From), slog.String("sources", e.Sources))
		}
		attrs = append(attrs, slog.Uint64("lo", e.Lo), slog.Uint64("hi", e.Hi), slog.Uint64("bytes", e.Hi-e.Lo))
		if e.Cause != "" {
			attrs = append(attrs, slog.String("cause", e.Cause), slog.String("action", e.Action))
		}
		if e.Why != "" {
			attrs = append(attrs, slog.String("why", e.Why))
		}
		if e.For != 0 {
			attrs = append(attrs, slog.Uint64("for_buffer", e.For))
		}
		// The kind decides, not e.Took: a coarse clock may not advance during an event.
		if k := e.Kind; k == buffer.ActivityCopy || k == buffer.ActivityFill || k == buffer.ActivityWait || k == buffer.ActivityEvict ||
			k == buffer.ActivityUse && e.Stream == nil {
			attrs = append(attrs, slog.Duration("took", e.Took))
		}
		if e.FromDevice != nil && e.FromDevice.Info().Simulated || e.ToDevice != nil && e.ToDevice.Info().Simulated {
			attrs = append(attrs, slog.Bool("simulated", true))
		}
		if site := e.Site(); site != "" {
			attrs = append(attrs, slog.String("site", site))
		}
		l.LogAttrs(ctx, level, "halyard: "+e.Kind.String(), attrs...)
	})
}
