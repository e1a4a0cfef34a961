package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// The shop of the demo. Its orders are spread evenly from October 1 to eight o'clock on November 30, 2026. Most orders
// of the last days are still open.
const (
	seedCustomers = 2800
	seedItems     = 400
	seedSpan      = 60*24*time.Hour + 8*time.Hour
	seedOpen      = 4 * 24 * time.Hour // younger orders are open, except a few that were cancelled
)

// progressEvery is the number of orders between two reports of progress.
const progressEvery = 5000

// ReportYear and ReportMonth name the last full month of the seeded data.
const (
	ReportYear  = 2026
	ReportMonth = time.November
)

var (
	directions = []string{"north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"}
	lands      = []string{"coast", "hills", "plain", "lakes", "valley", "forest", "islands", "delta", "moor", "city",
		"harbour", "heath", "meadows", "ridge"}
	things  = []string{"lamp", "chair", "kettle", "notebook", "bicycle", "blanket", "radio", "ladder"}
	colours = []string{"red", "blue", "green", "black", "white"}
)

// Regions returns the sales regions of the seeded customers.
func Regions() []string {
	var regions []string
	for _, land := range lands {
		for _, direction := range directions {
			regions = append(regions, direction+" "+land)
		}
	}
	return regions
}

// fill makes the tables and the given number of orders in the empty database db. The rows depend only on the number of
// orders.
func fill(ctx context.Context, db *sql.DB, orders int, progress func(done int)) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after Commit
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	rows := &rowWriter{ctx: ctx, tx: tx}
	fillNames(rows)
	fillOrders(rows, orders, progress)
	if rows.err != nil {
		return rows.err
	}
	if _, err := tx.ExecContext(ctx, indexes); err != nil {
		return err
	}
	return tx.Commit()
}

func fillNames(rows *rowWriter) {
	regions := Regions()
	rows.into("customers", 3)
	for id := range seedCustomers {
		rows.add(id+1, fmt.Sprintf("customer-%04d", id+1), regions[id%len(regions)])
	}
	rows.into("items", 2)
	for id := range seedItems {
		name := fmt.Sprintf("%s %s no. %d", colours[id%len(colours)], things[id%len(things)], id+1)
		rows.add(id+1, name)
	}
	rows.flush()
}

func fillOrders(rows *rowWriter, orders int, progress func(done int)) {
	random := rand.New(rand.NewPCG(8, 0)) // a fixed seed: the same shop everywhere
	start := time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)
	pause := seedSpan / time.Duration(orders)
	rows.into("orders", 6)
	for i := range orders {
		at := pause * time.Duration(i) // since start
		state := StateShipped
		switch {
		case random.IntN(20) == 0:
			state = StateCancelled
		case seedSpan-at < seedOpen:
			state = StateOpen
		}
		rows.add(i+1, 1+random.IntN(seedCustomers), 1+random.IntN(seedItems), 500+random.IntN(50_000),
			state, start.Add(at).UnixMilli())
		if (i+1)%progressEvery == 0 || i+1 == orders {
			rows.flush()
			progress(i + 1)
		}
		if rows.err != nil {
			return
		}
	}
}

// rowWriter inserts rows in batches: one statement for many rows is several times faster than one for each row. After
// the first error, which it keeps in err, it does nothing.
type rowWriter struct {
	ctx context.Context
	tx  *sql.Tx
	err error

	table   string
	columns int
	args    []any
}

const rowsPerInsert = 100

func (w *rowWriter) into(table string, columns int) {
	w.flush()
	w.table, w.columns = table, columns
}

func (w *rowWriter) add(values ...any) {
	w.args = append(w.args, values...)
	if len(w.args) >= rowsPerInsert*w.columns {
		w.flush()
	}
}

func (w *rowWriter) flush() {
	if len(w.args) == 0 || w.err != nil {
		return
	}
	row := "(?" + strings.Repeat(",?", w.columns-1) + ")"
	query := "INSERT INTO " + w.table + " VALUES " + row + strings.Repeat(","+row, len(w.args)/w.columns-1)
	_, w.err = w.tx.ExecContext(w.ctx, query, w.args...)
	w.args = w.args[:0]
}
