package store

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// lock takes the lock of the file at path. It waits until the lock is free or ctx ends.
//
// The file is an empty SQLite database and the lock is an exclusive transaction on it. SQLite knows how to lock files
// on every system, between processes as well as inside one. The lock of a process that dies is released by the system,
// whereas a lock file of our own would stay.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	db, err := sql.Open("sqlite", dsn(path, "busy_timeout(250)"))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	for {
		_, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		if err == nil {
			break
		}
		if !isBusy(err) || ctx.Err() != nil {
			return nil, errors.Join(err, ctx.Err(), conn.Close(), db.Close())
		}
	}
	return func() {
		conn.Close()
		db.Close() // rolls back, which releases the lock
	}, nil
}

// isBusy reports whether err means that another connection held a lock for too long.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
