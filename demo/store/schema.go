package store

// version is part of the seed's file name. Raise it with every change of the schema or of the seeded data: then an old
// file is never used in place of a new one.
const version = 5

// States of an order, as stored.
const (
	StateOpen      = 1
	StateShipped   = 2
	StateCancelled = 3
)

// tables are made before the rows, indexes after them: filling a table without its indexes is much faster.
const tables = `
CREATE TABLE customers (
	id     INTEGER PRIMARY KEY,
	name   TEXT NOT NULL UNIQUE,
	region TEXT NOT NULL
);
CREATE TABLE items (
	id   INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE
);
CREATE TABLE orders (
	id           INTEGER PRIMARY KEY,
	customer_id  INTEGER NOT NULL REFERENCES customers (id),
	item_id      INTEGER NOT NULL REFERENCES items (id),
	amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0),
	state        INTEGER NOT NULL,
	created_at   INTEGER NOT NULL -- milliseconds since 1970, UTC
);
`

// Orders have no index but their identifier, which also sorts them by time. See openOrdersQuery.
const indexes = `
CREATE INDEX customers_by_region ON customers (region);
ANALYZE;
`
