package store

import (
	"context"
	"fmt"
	"time"
)

// Day is one row of the monthly report.
type Day struct {
	Day          int
	Orders       int64
	RevenueCents int64
}

// MonthlyReport returns the days of the month that have orders, from the first to the last. It reads every order of the
// month and holds one connection all the time. So it collects the days before the caller sends them anywhere: a client
// that reads slowly would hold the connection for as long as it likes.
func (s *Store) MonthlyReport(ctx context.Context, year int, month time.Month) ([]Day, error) {
	if month < time.January || month > time.December {
		return nil, fmt.Errorf("%w: month must be from 1 to 12, got %d", ErrInvalid, month)
	}
	const query = `
		SELECT CAST(strftime('%d', created_at / 1000, 'unixepoch') AS INTEGER) AS day, count(*), sum(amount_cents)
		FROM orders
		WHERE created_at >= ? AND created_at < ?
		GROUP BY day
		ORDER BY day`
	from := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	rows, err := s.db.QueryContext(ctx, query, from.UnixMilli(), from.AddDate(0, 1, 0).UnixMilli())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var days []Day
	for rows.Next() {
		var d Day
		if err := rows.Scan(&d.Day, &d.Orders, &d.RevenueCents); err != nil {
			return nil, err
		}
		days = append(days, d)
	}
	return days, rows.Err()
}
