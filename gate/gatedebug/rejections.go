package gatedebug

import (
	"context"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

const (
	// keepPerSecond is how many rejections of a gate are kept in a second. The
	// others of a flood cost little.
	keepPerSecond = 20
	// maxRejections is how many rejections are kept for all gates of a page. A
	// gate gets its share, from minRejections to maxRejectionsEach.
	maxRejections     = 5000
	minRejections     = 10
	maxRejectionsEach = 50
)

// rejection is one of the last rejections of a gate.
type rejection struct {
	Seq          uint64  `json:"seq"` // counts the kept rejections of the gate
	Time         int64   `json:"t"`   // in Unix milliseconds
	Decision     string  `json:"decision"`
	Reason       string  `json:"reason"`
	Route        string  `json:"route"`
	RequestID    string  `json:"request_id"`
	TraceID      string  `json:"trace_id,omitempty"`
	RemoteIP     string  `json:"remote_ip,omitempty"`
	Key          string  `json:"key,omitempty"`
	Priority     string  `json:"priority"`
	WaitedMs     float64 `json:"waited_ms"`
	InFlight     int64   `json:"in_flight"`
	Limit        int64   `json:"limit"`
	RetryDelayMs int64   `json:"retry_delay_ms,omitempty"`
	DryRun       bool    `json:"dry_run,omitempty"`
	SelfWait     bool    `json:"self_wait,omitempty"` // its own context holds the gate
}

func (w *watch) newRejection(ctx context.Context, e *gate.Event, now time.Time) rejection {
	call := e.Call.Resolved(ctx)
	r := rejection{
		Time:     now.UnixMilli(),
		Decision: e.Decision.String(), Reason: e.Reason.String(),
		Route: kept(call.Route), RequestID: kept(call.RequestID), RemoteIP: strings.Clone(w.config.addresses.Show(call.RemoteIP)),
		Key: strings.Clone(w.shown(call.Key, e.KeyHash)), Priority: call.Priority.String(),
		WaitedMs: ms(e.Waited), InFlight: e.InFlight, Limit: e.Limit, DryRun: e.DryRun, SelfWait: e.SelfWait,
	}
	if e.Rejection != nil {
		r.RetryDelayMs = e.Rejection.RetryDelay.Milliseconds()
	}
	if traceID := w.config.traceID; traceID != nil {
		r.TraceID = kept(traceID(ctx))
	}
	return r
}

// shown returns a key as the page shows it.
func (w *watch) shown(key string, hash func() string) string {
	if w.config.rawKeys {
		return clean.String(key)
	}
	return hash()
}

// kept returns a clean copy of s, which may be a part of something large.
func kept(s string) string { return strings.Clone(clean.String(s)) }

// rejections keeps the last rejections of a gate.
type rejections struct {
	keep   int // how many
	ring   []rejection
	seq    uint64 // of the newest
	second int64
	left   int // how many more may be kept in this second
}

// wants reports whether to keep a rejection of this time, and counts it if so.
func (r *rejections) wants(now time.Time) bool {
	if s := now.Unix(); s != r.second {
		r.second, r.left = s, keepPerSecond
	}
	if r.left == 0 {
		return false
	}
	r.left--
	return true
}

func (r *rejections) add(one rejection) {
	r.seq++
	one.Seq = r.seq
	if len(r.ring) < r.keep {
		r.ring = append(r.ring, one)
		return
	}
	r.ring[(r.seq-1)%uint64(r.keep)] = one
}

// after returns the kept rejections with a Seq above the given one, the oldest
// first.
func (r *rejections) after(seq uint64) []rejection {
	first := max(seq, r.seq-uint64(len(r.ring)))
	var out []rejection
	for n := first; n < r.seq; n++ {
		out = append(out, r.ring[n%uint64(r.keep)])
	}
	return out
}
