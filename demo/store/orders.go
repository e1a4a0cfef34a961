package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"
)

// Order is a row of the table orders.
type Order struct {
	ID          int64
	CustomerID  int64
	ItemID      int64
	AmountCents int64
	State       int
	CreatedAt   time.Time
}

// Filter selects open orders. Empty fields match everything.
type Filter struct {
	Customer string
	Region   string
	Limit    int
}

// openOrdersQuery reads the table from the newest order on until it has found enough. If many orders match, that is
// fast. If few match, as in one region, it reads the whole table, and no index helps as long as every filter may be
// empty. Every shop that has grown has such a query. It takes tens of milliseconds, which is fine on a quiet day.
const openOrdersQuery = `
SELECT id, customer_id, item_id, amount_cents, state, created_at
FROM orders
WHERE state = ?1
  AND (?2 = '' OR customer_id = (SELECT id FROM customers WHERE name = ?2))
  AND (?3 = '' OR customer_id IN (SELECT id FROM customers WHERE region = ?3))
ORDER BY id DESC
LIMIT ?4`

// OpenOrders returns open orders, newest first.
func (s *Store) OpenOrders(ctx context.Context, f Filter) ([]Order, error) {
	rows, err := s.db.QueryContext(ctx, openOrdersQuery, StateOpen, f.Customer, f.Region, f.Limit)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(o *Order) error {
		var created int64
		err := rows.Scan(&o.ID, &o.CustomerID, &o.ItemID, &o.AmountCents, &o.State, &created)
		o.CreatedAt = time.UnixMilli(created).UTC()
		return err
	})
}

// Customer is a row of the table customers.
type Customer struct {
	ID     int64
	Name   string
	Region string
}

// Customers returns the customers with the given identifiers.
func (s *Store) Customers(ctx context.Context, ids []int64) (map[int64]Customer, error) {
	const query = `SELECT id, name, region FROM customers WHERE id IN (SELECT value FROM json_each(?))`
	rows, err := s.db.QueryContext(ctx, query, jsonArray(ids))
	if err != nil {
		return nil, err
	}
	list, err := collect(rows, func(c *Customer) error { return rows.Scan(&c.ID, &c.Name, &c.Region) })
	return byID(list, func(c Customer) int64 { return c.ID }), err
}

// Item is a row of the table items.
type Item struct {
	ID   int64
	Name string
}

// Items returns the items with the given identifiers.
func (s *Store) Items(ctx context.Context, ids []int64) (map[int64]Item, error) {
	const query = `SELECT id, name FROM items WHERE id IN (SELECT value FROM json_each(?))`
	rows, err := s.db.QueryContext(ctx, query, jsonArray(ids))
	if err != nil {
		return nil, err
	}
	list, err := collect(rows, func(i *Item) error { return rows.Scan(&i.ID, &i.Name) })
	return byID(list, func(i Item) int64 { return i.ID }), err
}

// collect reads one value from each row and closes the rows.
func collect[T any](rows *sql.Rows, scan func(*T) error) ([]T, error) {
	defer rows.Close()
	var list []T
	for rows.Next() {
		var value T
		if err := scan(&value); err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, rows.Err()
}

func byID[T any](list []T, id func(T) int64) map[int64]T {
	m := make(map[int64]T, len(list))
	for _, value := range list {
		m[id(value)] = value
	}
	return m
}

// jsonArray makes one argument of a list of any length, so that the text of the statement stays the same.
func jsonArray(ids []int64) string {
	b, err := json.Marshal(ids)
	if err != nil { // integers can always be marshalled
		panic(err)
	}
	return string(b)
}
