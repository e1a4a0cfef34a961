package gatedebug

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/rpcgate/rpcgate/gate"
)

// maxCommand is the largest size of a command in bytes.
const maxCommand = 4096

// command is the body of a POST to control:
//
//	{"gate": "orders-db", "limit": 20}
//	{"gate": "orders-db", "dry_run": true}
type command struct {
	watch  *watch
	limit  int64 // 0: do not change it
	dryRun *bool // nil: do not change it
}

// outcome is the response to a command.
type outcome struct {
	Gate   string `json:"gate"`
	Limit  int64  `json:"limit"`
	DryRun bool   `json:"dry_run"`
}

// serveControl executes a command.
func (p *page) serveControl(w http.ResponseWriter, r *http.Request) {
	body, ok := p.readCommand(w, r)
	if !ok {
		return
	}
	c, code, bad := p.parse(body)
	if bad != nil {
		fail(w, code, bad.Field, bad.Value, "%s", bad.Message)
		return
	}
	g := c.watch.gate
	if c.limit != 0 {
		if err := g.SetLimit(c.limit); err != nil { // parse has checked the limit
			fail(w, http.StatusBadRequest, "limit", strconv.FormatInt(c.limit, 10), "%s", err)
			return
		}
	}
	if c.dryRun != nil {
		g.SetDryRun(*c.dryRun)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(mustMarshal(outcome{g.Name(), g.Limit(), g.DryRun()}), '\n'))
}

// readCommand returns the body of a request that changes something, or answers it. It must
// be a POST, from the page itself or from a client that is not a browser. To a browser, a
// site whose name points to this server by DNS rebinding is the page itself, so the host
// matters, too.
func (p *page) readCommand(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	if r.Method != http.MethodPost {
		notAllowed(w, "POST")
		return nil, false
	}
	if !p.config.mayControl(r.Host) {
		fail(w, http.StatusForbidden, "Host", r.Host, "want localhost, a loopback address or a host that the program allows with WithControl")
		return nil, false
	}
	if err := p.origins.Check(r); err != nil {
		fail(w, http.StatusForbidden, "Origin", r.Header.Get("Origin"), "requests from other sites are not allowed (%s)", err)
		return nil, false
	}
	// Other sites can send a form without permission, but a form cannot have this type.
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		fail(w, http.StatusUnsupportedMediaType, "Content-Type", r.Header.Get("Content-Type"), "want application/json")
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCommand))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		fail(w, http.StatusRequestEntityTooLarge, "body", "", "want at most %d bytes", maxCommand)
		return nil, false
	} else if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return nil, false
	}
	return body, true
}

// parse reads a command and checks all of it, so that a bad command changes nothing.
func (p *page) parse(body []byte) (command, int, *fieldError) {
	var c command
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil || fields == nil {
		return c, http.StatusBadRequest, &fieldError{"body", string(body), "want a JSON object"}
	}
	for name, raw := range fields {
		value := string(bytes.TrimSpace(raw))
		bad := func(message string) (command, int, *fieldError) {
			return c, http.StatusBadRequest, &fieldError{name, value, message}
		}
		switch name {
		case "gate":
			var s string
			if json.Unmarshal(raw, &s) != nil {
				return bad("want the name of a gate")
			}
			if c.watch = p.hub.byName[s]; c.watch == nil {
				return c, http.StatusNotFound, &fieldError{name, s, "there is no gate of that name"}
			}
		case "limit":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 1 || n > gate.MaxLimit {
				return bad("want a whole number from 1 to " + strconv.FormatInt(gate.MaxLimit, 10))
			}
			c.limit = n
		case "dry_run":
			on := value == "true"
			if !on && value != "false" {
				return bad("want true or false")
			}
			c.dryRun = &on
		default:
			return bad("unknown field, want gate and limit or dry_run")
		}
	}
	switch {
	case c.watch == nil:
		return c, http.StatusBadRequest, &fieldError{"gate", "", "want the name of a gate"}
	case c.limit == 0 && c.dryRun == nil:
		return c, http.StatusBadRequest, &fieldError{"limit", "", "want limit or dry_run"}
	}
	return c, 0, nil
}
