package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// NewOrder is an order for Create.
type NewOrder struct {
	Customer    string
	Region      string
	Item        string
	AmountCents int64
}

// Create stores a new open order of the given time and returns it. It adds a customer or an item that is not known yet.
func (s *Store) Create(ctx context.Context, n NewOrder, at time.Time) (Order, error) {
	if n.Customer == "" || n.Region == "" || n.Item == "" {
		return Order{}, fmt.Errorf("%w: customer, region and item must not be empty", ErrInvalid)
	}
	if n.AmountCents < 0 {
		return Order{}, fmt.Errorf("%w: amount_cents must not be negative, got %d", ErrInvalid, n.AmountCents)
	}
	o, err := s.insert(ctx, n, at)
	if isBusy(err) {
		err = errors.Join(ErrBusy, err)
	}
	return o, err
}

func (s *Store) insert(ctx context.Context, n NewOrder, at time.Time) (Order, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return Order{}, err
	}
	defer tx.Rollback() // does nothing after Commit
	o := Order{AmountCents: n.AmountCents, State: StateOpen, CreatedAt: at.UTC().Truncate(time.Millisecond)}
	o.CustomerID, err = idByName(ctx, tx, "customers", n.Customer,
		"INSERT INTO customers (name, region) VALUES (?, ?) RETURNING id", n.Customer, n.Region)
	if err != nil {
		return Order{}, err
	}
	o.ItemID, err = idByName(ctx, tx, "items", n.Item, "INSERT INTO items (name) VALUES (?) RETURNING id", n.Item)
	if err != nil {
		return Order{}, err
	}
	err = tx.QueryRowContext(ctx, `
		INSERT INTO orders (customer_id, item_id, amount_cents, state, created_at)
		VALUES (?, ?, ?, ?, ?) RETURNING id`,
		o.CustomerID, o.ItemID, o.AmountCents, o.State, o.CreatedAt.UnixMilli()).Scan(&o.ID)
	if err != nil {
		return Order{}, err
	}
	return o, tx.Commit()
}

// idByName returns the identifier of the row with that name. If there is none, it adds one with insert.
func idByName(ctx context.Context, tx *sql.Tx, table, name, insert string, args ...any) (id int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT id FROM "+table+" WHERE name = ?", name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, insert, args...).Scan(&id)
	}
	return id, err
}
