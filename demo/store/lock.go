package store

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// lock takes the lock named by the file at path, waiting until it is free or ctx ends.
//
// The file is an empty SQLite database and the lock an exclusive transaction on it. SQLite locks files on every
// system in the way that works there, between processes as well as inside one, and the lock of a process that dies
// is gone with it: a lock file of our own would have to be cleaned up after a crash.
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
		db.Close() // rolls back, which gives up the lock
	}, nil
}

// isBusy says whether err means that another connection held a lock for too long.
func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
