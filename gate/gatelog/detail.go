package gatelog

import (
	"context"
	"log/slog"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

// mayDetail reports whether the gate may write one more line of detail in this
// interval, and counts the line.
func (g *gateLog) mayDetail(most int) bool {
	if g.details.Load() >= int64(most) { // a flood only reads
		return false
	}
	return g.details.Add(1) <= int64(most)
}

// inBurst reports whether a decision belongs to a burst. A rejection begins one if
// the interval before it had none. Without a burst, an accepted call costs one
// atomic load.
func (g *gateLog) inBurst(l *Logger, detail *Detail, now instant, rejected bool) bool {
	if detail.BurstLines == 0 || !rejected && g.burstLeft.Load() <= 0 {
		return false
	}
	if !now.read {
		now = l.now()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.era.Same(now.era) {
		g.era, g.rejected, g.burstEnd = now.era, false, now.at
	}
	if detail != g.detail {
		// A change begins a burst with the next rejection, and no burst outlives it.
		g.detail = detail
		g.rejected = g.rejected && detail == &l.config.Detail
		g.burstLeft.Store(0)
	}
	if rejected {
		if !g.rejected || now.at-g.lastRejection >= l.config.interval {
			g.burstLeft.Store(int64(detail.BurstLines))
			g.burstEnd = now.at + detail.BurstTime
		}
		g.rejected, g.lastRejection = true, now.at
	}
	if now.at >= g.burstEnd {
		g.burstLeft.Store(0)
	}
	if g.burstLeft.Load() <= 0 {
		return false
	}
	g.burstLeft.Add(-1)
	return true
}

// writeDecision writes all details of one decision. why is "sample" or "burst".
func (l *Logger) writeDecision(ctx context.Context, r *row, e *gate.Event, why string) {
	level := l.config.calm
	if e.Decision.Rejected() && !e.DryRun {
		level = l.config.overload
	}
	if !l.log.Enabled(ctx, level) {
		return
	}
	call := e.Identified(ctx)
	attrs := make([]slog.Attr, 0, 18)
	attrs = append(attrs,
		slog.String("gate", r.gate),
		slog.String("route", clean.String(call.Route)), // the row's may be otherRoute
		slog.String("request_id", clean.String(call.RequestID)),
		slog.String("decision", e.Decision.String()),
	)
	if e.Decision.Rejected() {
		attrs = append(attrs, slog.String("reason", e.Reason.String()))
	}
	attrs = append(attrs,
		slog.Int64("waited_ms", e.WaitedMs()),
		slog.Int64("in_flight", e.InFlight),
		slog.Int64("limit", e.Limit),
		slog.Int("waiting", e.Waiting),
	)
	if e.Rejection != nil {
		attrs = append(attrs, slog.Int64("retry_delay_ms", e.Rejection.RetryDelay.Milliseconds()))
	}
	attrs = l.appendCaller(attrs, &call, e)
	if e.SelfWait {
		attrs = append(attrs, slog.Bool("self_wait", true))
	}
	if e.DryRun {
		attrs = append(attrs, slog.Bool("dry_run", true))
	}
	attrs = append(attrs, slog.String("detail", why))
	l.log.LogAttrs(ctx, level, "gate decision", attrs...)
}

// writeHeld writes the line about a lease held too long.
func (l *Logger) writeHeld(ctx context.Context, r *row, e *gate.Event) {
	if !l.log.Enabled(ctx, l.config.overload) {
		return
	}
	call := e.Call.Resolved(ctx)
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs,
		slog.String("gate", r.gate),
		slog.String("route", clean.String(call.Route)),
		slog.String("request_id", clean.String(call.RequestID)),
		slog.Int64("held_ms", e.Held.Milliseconds()),
		slog.Int64("in_flight", e.InFlight),
		slog.Int64("limit", e.Limit),
	)
	l.log.LogAttrs(ctx, l.config.overload, "gate lease held too long", l.appendCaller(attrs, &call, e)...)
}

// appendCaller appends the attributes of an event's call that may be missing or have
// their default.
func (l *Logger) appendCaller(attrs []slog.Attr, call *gate.Call, e *gate.Event) []slog.Attr {
	if address := l.config.addresses.Show(call.RemoteIP); address != "" {
		attrs = append(attrs, slog.String("remote_ip", address))
	}
	switch {
	case call.Key == "":
	case l.config.rawKeys:
		attrs = append(attrs, slog.String("key", clean.String(call.Key)))
	default:
		attrs = append(attrs, slog.String("key", e.KeyHash()))
	}
	if call.Priority != gate.Normal {
		attrs = append(attrs, slog.String("priority", call.Priority.String()))
	}
	if call.Cost > 1 {
		attrs = append(attrs, slog.Int64("cost", call.Cost))
	}
	return attrs
}

// ms returns d in milliseconds, rounded to two decimals.
func ms(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond).Microseconds()) / 1000
}
