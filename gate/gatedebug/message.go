package gatedebug

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

const (
	// maxRows bounds the rows of a message. Further rows come with the next messages.
	maxRows = 200
	// maxSparks bounds the gates of which the first message has the past, and
	// sparkSamples is how much of it that is. The list on the page shows as much.
	maxSparks    = 50
	sparkSamples = 120
)

// frame makes a server-sent event. data is JSON without line breaks.
func frame(event string, data []byte) []byte {
	b := make([]byte, 0, len(event)+len(data)+16)
	b = append(b, "event: "...)
	b = append(b, event...)
	b = append(b, "\ndata: "...)
	b = append(b, data...)
	return append(b, "\n\n"...)
}

// hello is the first message to a viewer: everything that does not change, and all
// rows.
type hello struct {
	T          int64           `json:"t"`
	IntervalMs int64           `json:"interval_ms"`
	WindowMs   int64           `json:"window_ms"`
	Control    bool            `json:"control"`
	Traces     bool            `json:"traces"`
	Log        bool            `json:"log"`
	RowColumns []string        `json:"row_columns"`
	Columns    []string        `json:"columns"` // of numbers
	Gates      []string        `json:"gates"`   // names, by index
	Rows       json.RawMessage `json:"rows"`

	Sparks map[int]json.RawMessage `json:"sparks"` // by index, for the gates under most pressure
}

// helloMessageLocked makes the first message to a viewer.
func (h *hub) helloMessageLocked() []byte {
	m := hello{
		T: h.last.UnixMilli(), IntervalMs: h.config.interval.Milliseconds(), WindowMs: window.Milliseconds(),
		Control: h.config.control, Traces: h.config.traceID != nil, Log: h.config.log != nil,
		RowColumns: rowColumns(), Columns: numberColumns(),
		Gates: make([]string, len(h.watches)), Sparks: h.sparksLocked(),
	}
	rows := []byte{'['}
	for i, w := range h.watches {
		m.Gates[i] = w.gate.Name()
		if i > 0 {
			rows = append(rows, ',')
		}
		rows = h.gates[i].row.append(rows, i)
	}
	m.Rows = append(rows, ']')
	return frame("hello", mustMarshal(m))
}

// sparksLocked returns the past of the gates under most pressure.
func (h *hub) sparksLocked() map[int]json.RawMessage {
	order := make([]int, len(h.gates))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(h.gates[b].row.pressure, h.gates[a].row.pressure) })
	sparks := make(map[int]json.RawMessage)
	for _, i := range order[:min(len(order), maxSparks)] {
		sparks[i] = h.gates[i].history.appendSpark(nil, h.last.Add(-sparkSamples*h.config.interval))
	}
	return sparks
}

// fullMessage makes the last message to a viewer for which there is no room.
func (h *hub) fullMessage() []byte {
	return frame("full", mustMarshal(map[string]int{"max_viewers": h.config.maxViewers}))
}

// tickMessageLocked makes the message with the rows that have changed: first those
// of gates in trouble, then the others, which take turns.
func (h *hub) tickMessageLocked() []byte {
	b := append([]byte(`{"t":`), strconv.FormatInt(h.last.UnixMilli(), 10)...)
	b = append(b, `,"rows":[`...)
	rows := 0
	add := func(i int) bool {
		g := &h.gates[i]
		if !g.changed {
			return true
		}
		if rows == maxRows {
			return false
		}
		if rows > 0 {
			b = append(b, ',')
		}
		rows++
		b = g.row.append(b, i)
		g.changed, g.urgent = false, false
		return true
	}
	for i := range h.gates {
		if h.gates[i].urgent {
			add(i)
		}
	}
	for range h.gates {
		if !add(h.cursor) {
			break
		}
		h.cursor = (h.cursor + 1) % len(h.gates)
	}
	return frame("tick", append(b, `]}`...))
}

// mustMarshal marshals types of this package, for which json.Marshal cannot fail.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("gatedebug: " + err.Error())
	}
	return b
}
