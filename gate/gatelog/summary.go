package gatelog

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/rpcgate/rpcgate/gate"
)

// arm begins an interval and sets the timer that writes the summaries at its end.
func (l *Logger) arm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.armed.Load() || l.closed.Load() {
		return
	}
	l.since = time.Now()
	l.timers.Add(1)
	l.timer = time.AfterFunc(l.config.interval, func() {
		defer l.timers.Done()
		l.Flush(context.Background())
	})
	l.armed.Store(true)
}

// disarm ends the interval and returns its length.
func (l *Logger) disarm() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.armed.Load() {
		return 0
	}
	if l.timer.Stop() {
		l.timers.Done()
	}
	l.armed.Store(false)
	return time.Since(l.since)
}

// Flush ends the current interval and writes its summaries, if there are any. It
// passes ctx to the [slog.Handler].
func (l *Logger) Flush(ctx context.Context) {
	l.writing.Lock()
	defer l.writing.Unlock()
	interval := l.disarm()
	all := l.take()
	slices.SortFunc(all, func(a, b counts) int {
		return cmp.Or(cmp.Compare(a.gate, b.gate), cmp.Compare(a.route, b.route))
	})
	for i := range all {
		l.writeSummary(ctx, &all[i], interval)
	}
}

// Close writes the last summaries and makes the Logger ignore further events. When
// it returns, the Logger has no timer and no goroutine any more. It always returns
// nil and may be called again.
func (l *Logger) Close() error {
	l.closed.Store(true)
	l.Flush(context.Background())
	l.timers.Wait()
	return nil
}

// writeSummary writes the summary of one gate, route and interval.
func (l *Logger) writeSummary(ctx context.Context, c *counts, interval time.Duration) {
	level := l.config.calm
	if c.enforced || c.heldTooLong > 0 {
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
		slog.Float64("interval_s", interval.Round(time.Millisecond).Seconds()),
	)
	if c.heldTooLong > 0 {
		attrs = append(attrs, slog.Uint64("held_too_long", c.heldTooLong))
	}
	if c.dropped > 0 {
		attrs = append(attrs, slog.Int64("details_dropped", c.dropped))
	}
	if c.dryRun {
		attrs = append(attrs, slog.Bool("dry_run", true))
	}
	l.log.LogAttrs(ctx, level, "gate summary", attrs...)
}
