package gatelog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Detail says which decisions a Logger writes in detail. The options [WithSampleRate],
// [WithBurst] and [WithMaxDetails] have the same values and say what they mean.
type Detail struct {
	SampleRate float64       // 0 to 1
	BurstLines int           // 0 turns bursts off
	BurstTime  time.Duration // above 0
	MaxDetails int           // lines of a gate in an interval, without bursts
}

func (d Detail) check() error {
	var errs []error
	if !(d.SampleRate >= 0 && d.SampleRate <= 1) { // also true for NaN
		errs = append(errs, fmt.Errorf("SampleRate: want 0 to 1, got %v", d.SampleRate))
	}
	if d.BurstLines < 0 {
		errs = append(errs, fmt.Errorf("BurstLines: want 0 or more, got %d", d.BurstLines))
	}
	if d.BurstTime <= 0 {
		errs = append(errs, fmt.Errorf("BurstTime: want a time above 0, got %s", d.BurstTime))
	}
	if d.MaxDetails < 0 {
		errs = append(errs, fmt.Errorf("MaxDetails: want 0 or more, got %d", d.MaxDetails))
	}
	return errors.Join(errs...)
}

// MaxDetailTime is for how long [Logger.SetDetail] may change the detail.
const MaxDetailTime = 24 * time.Hour

// changed is a Detail that counts until its time is over.
type changed struct {
	Detail
	until instant
}

// Detail returns what is written in detail now, and for how long if [Logger.SetDetail]
// said so. left is 0 for what the options say, which has no end.
func (l *Logger) Detail() (d Detail, left time.Duration) {
	c := l.changed.Load()
	if c == nil {
		return l.config.Detail, 0
	}
	now := l.now()
	if c.over(now) {
		return l.config.Detail, 0
	}
	return c.Detail, c.until.at - now.at
}

// SetDetail changes what is written in detail, for the given time: while something
// burns, and not for good. Afterwards the options count again. A gate that rejects calls
// begins a burst with the next one, if d has bursts. Both changes are written to the
// log, the second one with the next event or summary.
//
// It is an error, and nothing changes, if d has a bad value, or if the time is not above
// 0 and at most [MaxDetailTime]. Start from [Logger.Detail] to change a part.
func (l *Logger) SetDetail(d Detail, time time.Duration) error {
	err := d.check()
	if time <= 0 || time > MaxDetailTime {
		err = errors.Join(err, fmt.Errorf("time: want more than 0 and at most %s, got %s", MaxDetailTime, time))
	}
	if err != nil {
		return fmt.Errorf("gatelog: SetDetail: %w", err)
	}
	until := l.now()
	until.at += time
	l.changed.Store(&changed{d, until})
	l.log.LogAttrs(context.Background(), l.config.calm, "gate log detail changed",
		slog.Float64("sample_rate", d.SampleRate), slog.Int("burst_lines", d.BurstLines),
		slog.Float64("burst_s", d.BurstTime.Seconds()), slog.Int("max_details", d.MaxDetails),
		slog.Float64("for_s", time.Seconds()))
	return nil
}

// ResetDetail makes the options count again, before the time of [Logger.SetDetail] is
// over.
func (l *Logger) ResetDetail() {
	if c := l.changed.Load(); c != nil {
		l.end(c)
	}
}

// end ends a change, once.
func (l *Logger) end(c *changed) {
	if l.changed.CompareAndSwap(c, nil) {
		l.log.LogAttrs(context.Background(), l.config.calm, "gate log detail as before")
	}
}

// over reports whether the time has passed. The clock of another bubble of
// testing/synctest says nothing about it.
func (c *changed) over(now instant) bool {
	return !c.until.era.Same(now.era) || now.at >= c.until.at
}

// detail returns what counts now. It reads the clock only while there is a change.
func (l *Logger) detail(now *instant) *Detail {
	c := l.changed.Load()
	if c == nil {
		return &l.config.Detail
	}
	if !now.read {
		*now = l.now()
	}
	if c.over(*now) {
		l.end(c)
		return &l.config.Detail
	}
	return &c.Detail
}
