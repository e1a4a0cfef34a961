package gatedebug

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rpcgate/rpcgate/gate"
	"github.com/rpcgate/rpcgate/gate/internal/clean"
)

const (
	defaultHolders = 100
	mostHolders    = 10_000
)

// gateState is a gate in state.json: its snapshot, and what the page knows in
// addition.
type gateState struct {
	gate.Snapshot

	State    string  `json:"state"`
	Pressure float64 `json:"pressure"`
	// Since is when the gate's trouble began.
	Since        time.Time     `json:"since,omitzero"`
	LastRejected time.Time     `json:"last_rejected,omitzero"`
	HoldersTotal int           `json:"holders_total"`
	Holders      []shownHolder `json:"holders"` // at most the requested number, instead of the Snapshot's
	Waiters      []shownWaiter `json:"waiters"` // at most as many as Holders
	Rejections   []rejection   `json:"last_rejections"`
	Minutes      []minute      `json:"last_hour"` // only minutes with calls that did not pass at once
}

// shownHolder and shownWaiter have keys that can be shown. Unlike a [gate.Holder] or
// [gate.Waiter] they do not hash them in JSON.
type (
	shownHolder gate.Holder
	shownWaiter gate.Waiter
)

// fieldError says which field of a request is bad.
type fieldError struct {
	Field   string `json:"field"`
	Value   string `json:"value"`
	Message string `json:"message"`
}

func (e *fieldError) Error() string {
	return e.Field + ": " + e.Message + ", got " + strconv.Quote(e.Value)
}

// fail responds with an error that names the field and the value.
func fail(w http.ResponseWriter, code int, field, value, format string, args ...any) {
	e := &fieldError{field, clean.String(value), fmt.Sprintf(format, args...)}
	b := mustMarshal(map[string]any{"error": e, "message": e.Error()})
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n'))
}

// prefersJSON reports whether an Accept header names JSON before HTML.
func prefersJSON(accept string) bool {
	before, _, ok := strings.Cut(accept, "application/json")
	return ok && !strings.Contains(before, "text/html")
}

// stateQuery is the query of state.json.
type stateQuery struct {
	watches []*watch // each once
	holders int      // how many holders and waiters are listed for a gate
}

// parseState reads the query of state.json: gate=… once for each gate, or for all of
// them without it, and holders=….
func (p *page) parseState(raw string) (q stateQuery, code int, bad *fieldError) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return q, http.StatusBadRequest, &fieldError{"query", raw, "want gate=… and holders=… (" + err.Error() + ")"}
	}
	q = stateQuery{watches: p.hub.watches, holders: defaultHolders}
	if names, ok := query["gate"]; ok {
		q.watches = nil
		for _, name := range names {
			one := p.hub.byName[name]
			if one == nil {
				return q, http.StatusNotFound, &fieldError{"gate", name, "there is no gate of that name"}
			}
			if !slices.Contains(q.watches, one) {
				q.watches = append(q.watches, one)
			}
		}
	}
	if query.Has("holders") {
		n, err := strconv.Atoi(query.Get("holders"))
		if err != nil || n < 0 || n > mostHolders {
			return q, http.StatusBadRequest, &fieldError{"holders", query.Get("holders"),
				fmt.Sprintf("want a whole number from 0 to %d", mostHolders)}
		}
		q.holders = n
	}
	return q, 0, nil
}

// serveState responds with the state as JSON. The query may name gates, with
// gate=… for each, and set how many holders and waiters are listed for a
// gate, with holders=…; the default is 100.
func (p *page) serveState(w http.ResponseWriter, r *http.Request) {
	q, code, bad := p.parseState(r.URL.RawQuery)
	if bad != nil {
		fail(w, code, bad.Field, bad.Value, "%s", bad.Message)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodHead {
		_ = q.write(w)
	}
}

// write writes the state gate by gate. The state of all gates would take too much
// memory at once.
func (q stateQuery) write(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "{\n  \"time\": %s,\n  \"gates\": [", mustMarshal(time.Now())); err != nil {
		return err
	}
	for i, one := range q.watches {
		separator := ",\n    "
		if i == 0 {
			separator = "\n    "
		}
		b := bytes.NewBufferString(separator)
		_ = json.Indent(b, mustMarshal(one.state(time.Now(), q.holders)), "    ", "  ") // the JSON is valid
		if _, err := b.WriteTo(w); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n  ]\n}\n")
	return err
}

// state returns the state of the gate, with at most the given number of holders
// and of waiters.
func (w *watch) state(now time.Time, holders int) gateState {
	s := gateState{Snapshot: w.gate.Snapshot()}
	st := w.status(now, &s.Snapshot, pace{})
	s.State, s.Pressure, s.Since, s.LastRejected = st.State, st.Pressure, st.Since, st.LastRejected
	all, waiters := s.Snapshot.Holders, w.gate.Waiters()
	s.HoldersTotal = len(all)
	s.Holders = make([]shownHolder, min(len(all), holders))
	s.Waiters = make([]shownWaiter, min(len(waiters), holders))
	for i := range s.Holders {
		h := all[i]
		h.Key = w.shown(h.Key, h.KeyHash)
		h.RemoteIP = w.config.addresses.Show(h.RemoteIP)
		cleanAll(&h.Route, &h.RequestID)
		s.Holders[i] = shownHolder(h)
	}
	for i := range s.Waiters {
		h := waiters[i]
		h.Key = w.shown(h.Key, h.KeyHash)
		h.RemoteIP = w.config.addresses.Show(h.RemoteIP)
		cleanAll(&h.Route, &h.RequestID)
		s.Waiters[i] = shownWaiter(h)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.Rejections = append([]rejection{}, w.rejections.after(0)...) // [] if there are none
	s.Minutes = append([]minute{}, w.hour.list(now, minutes-1)...)
	return s
}

func cleanAll(strings ...*string) {
	for _, s := range strings {
		*s = clean.String(*s)
	}
}
