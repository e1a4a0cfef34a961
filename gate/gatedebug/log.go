package gatedebug

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/rpcgate/rpcgate/gate/gatelog"
)

// WithLog lets the page say how many calls l writes in detail and, with [WithControl],
// change that for some time; see [gatelog.Logger.SetDetail]. By default the page says
// nothing about logs. l must not be nil.
func WithLog(l *gatelog.Logger) Option {
	return optionFunc(func(c *config) error {
		if l == nil {
			return errors.New("WithLog: want a logger, got nil")
		}
		c.log = l
		return nil
	})
}

// logDetail is the answer to a GET of log, and the body of a POST. With a for_s of 0 the
// POST makes the Logger's options count again; what else is missing stays as it is:
//
//	{"sample_rate": 1, "max_details": 10000, "for_s": 600}
type logDetail struct {
	SampleRate float64 `json:"sample_rate"`
	BurstLines int     `json:"burst_lines"`
	BurstS     float64 `json:"burst_s"`
	MaxDetails int     `json:"max_details"`
	ForS       float64 `json:"for_s"` // 0: has no end
}

func (p *page) serveLog(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && (!p.config.control || !p.changeLog(w, r)) {
		if !p.config.control {
			notAllowed(w, "GET, HEAD")
		}
		return
	}
	d := logDetailOf(p.config.log)
	w.Header().Set("Content-Type", "application/json")
	send(w, r, append(mustMarshal(d), '\n'))
}

func logDetailOf(l *gatelog.Logger) logDetail {
	d, left := l.Detail()
	return logDetail{d.SampleRate, d.BurstLines, d.BurstTime.Seconds(), d.MaxDetails, left.Seconds()}
}

// changeLog changes the detail, or answers a bad request.
func (p *page) changeLog(w http.ResponseWriter, r *http.Request) bool {
	body, ok := p.readCommand(w, r)
	if !ok {
		return false
	}
	d := logDetailOf(p.config.log)
	d.ForS = -1 // must be given
	if err := json.Unmarshal(body, &d); err != nil || d.ForS < 0 {
		fail(w, http.StatusBadRequest, "body", string(body), "want a JSON object with for_s and, if need be, sample_rate, burst_lines, burst_s and max_details")
		return false
	}
	if d.ForS == 0 {
		p.config.log.ResetDetail()
		return true
	}
	err := p.config.log.SetDetail(gatelog.Detail{
		SampleRate: d.SampleRate, BurstLines: d.BurstLines, BurstTime: seconds(d.BurstS), MaxDetails: d.MaxDetails,
	}, seconds(d.ForS))
	if err != nil {
		fail(w, http.StatusBadRequest, "body", string(body), "%s", err)
		return false
	}
	return true
}

// seconds bounds what it returns: a number of a client may be anything.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, -1), 1e6) * float64(time.Second))
}
