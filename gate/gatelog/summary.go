package gatelog

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// Flush ends the current interval and writes its summaries, if there are any. It
// passes ctx to the [slog.Handler].
func (l *Logger) Flush(ctx context.Context) { l.flush(ctx, nil) }

// flush is Flush, also for a timer: by is its ticker then.
func (l *Logger) flush(ctx context.Context, by *ticker) {
	l.writing.Lock()
	defer l.writing.Unlock()
	interval, ok := l.disarm(by)
	if !ok {
		return
	}
	l.detail(&instant{}) // a change may be over
	all := l.take()
	slices.SortFunc(all, func(a, b counts) int {
		return cmp.Or(cmp.Compare(a.gate, b.gate), cmp.Compare(a.route, b.route))
	})
	for i := range all {
		l.writeSummary(ctx, &all[i], interval)
	}
}

// Close writes the last summaries and makes the Logger ignore further events. When
// it returns, the Logger has no timer and no goroutine any more; a timer of a bubble
// of testing/synctest is left to the bubble. It always returns nil and may be called
// again.
func (l *Logger) Close() error {
	l.closed.Store(true)
	l.Flush(context.Background())
	l.wait()
	return nil
}

// writeSummary writes the summary of one gate, route and interval.
func (l *Logger) writeSummary(ctx context.Context, c *counts, interval time.Duration) {
	level := l.config.calm
	if c.enforced || c.heldTooLong > 0 || c.anyCutOff {
		level = l.config.overload
	}
	if !l.log.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs,
		slog.String("gate", c.gate),
		slog.String("route", c.route),
		slog.Uint64("accepted", c.accepted),
		slog.Uint64("rejected", c.allRejected()),
	)
	for reason, n := range c.rejected {
		if n > 0 {
			attrs = append(attrs, slog.Uint64("rejected_"+gate.Reason(reason).String(), n))
		}
	}
	mean := c.waited / time.Duration(max(c.waits, 1))
	attrs = append(attrs,
		slog.Uint64("abandoned", c.abandoned),
		slog.Float64("waited_ms_mean", ms(mean)),
		slog.Float64("waited_ms_p95", ms(min(c.buckets.quantile(0.95), c.longest))),
		slog.Float64("waited_ms_max", ms(c.longest)),
		slog.Int64("peak_in_flight", c.peak),
		slog.Int64("limit", c.limit),
	)
	if interval != unknownInterval {
		attrs = append(attrs, slog.Float64("interval_s", interval.Round(time.Millisecond).Seconds()))
	}
	if c.heldTooLong > 0 {
		attrs = append(attrs, slog.Uint64("held_too_long", c.heldTooLong))
	}
	for reason, n := range c.cutOff {
		if n > 0 {
			attrs = append(attrs, slog.Uint64("cut_off_"+gate.Reason(reason).String(), n))
		}
	}
	if c.dropped > 0 {
		attrs = append(attrs, slog.Int64("details_dropped", c.dropped))
	}
	if c.dryRun {
		attrs = append(attrs, slog.Bool("dry_run", true))
	}
	l.log.LogAttrs(ctx, level, "gate summary", attrs...)
}
