package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

var (
	// ErrInvalid is wrapped by errors about bad arguments.
	ErrInvalid = errors.New("invalid argument")
	// ErrBusy is wrapped by errors of writes for which the database was locked for too long. Nothing was written.
	ErrBusy = errors.New("database busy")
)

// Store is a pool of connections to a database of orders. It is safe for concurrent use.
type Store struct {
	db *sql.DB
}

// Open opens the database at path with a pool of at most conns connections. Calls that find no free connection wait
// for one until their context ends. That cannot be seen from outside, which is what the demo is about.
func Open(path string, conns int) (*Store, error) {
	if conns <= 0 {
		return nil, fmt.Errorf("number of connections must be positive, got %d", conns)
	}
	// In WAL mode readers and the writer do not block each other. Immediate transactions take the write lock at their
	// start, where SQLite waits for it, and not in the middle, where it would have to give up.
	// A file that is mapped into memory is read without copying and without SQLite's lock on its page cache. With that
	// lock, two queries side by side take longer than one after the other.
	db, err := sql.Open("sqlite", dsn(path,
		"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(ON)", "mmap_size(1073741824)")+
		"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	var seeded int
	err = db.QueryRow("SELECT count(*) FROM (SELECT 1 FROM orders LIMIT 1)").Scan(&seeded)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the database %s: %w", path, err), db.Close())
	}
	return &Store{db: db}, nil
}

// Close closes the pool. It waits for running queries.
func (s *Store) Close() error { return s.db.Close() }

// dsn returns the data source name for the database file at path, with pragmas run on every new connection.
func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		if abs, err := filepath.Abs(path); err == nil {
			path = filepath.ToSlash(abs)
		}
		path = "/" + strings.TrimPrefix(path, "/") // C:/x is /C:/x in a file URL
	}
	query := url.Values{"_pragma": pragmas}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}
