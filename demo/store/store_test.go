package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rpcgate/rpcgate/demo/store"
)

var (
	eight = time.Date(2026, time.November, 30, 8, 0, 0, 0, time.UTC)
	lamp  = store.NewOrder{Customer: "customer-0001", Region: "north coast", Item: "red lamp no. 1", AmountCents: 1250}
)

func TestOpenOrdersAreOpenAndNewestFirst(t *testing.T) {
	t.Parallel()
	s := seeded(t, 2000)
	all := openOrders(t, s, store.Filter{Limit: 2000})
	if len(all) < 80 || len(all) > 200 {
		t.Errorf("%d of 2000 orders are open, want about one in fifteen", len(all))
	}
	for i, o := range all {
		if o.State != store.StateOpen {
			t.Fatalf("order %d has state %d, want open", o.ID, o.State)
		}
		if i > 0 && o.CreatedAt.After(all[i-1].CreatedAt) {
			t.Fatalf("order %d is newer than the one before it", o.ID)
		}
	}
}

func TestOpenOrdersFilters(t *testing.T) {
	t.Parallel()
	s := seeded(t, 2000)
	all := openOrders(t, s, store.Filter{Limit: 2000})
	customers := customersOf(t, s, all)
	someone := customers[all[0].CustomerID]
	tests := []struct {
		name   string
		filter store.Filter
		want   func(store.Customer) bool
	}{
		{"region", store.Filter{Region: someone.Region}, func(c store.Customer) bool { return c.Region == someone.Region }},
		{"customer", store.Filter{Customer: someone.Name}, func(c store.Customer) bool { return c.ID == someone.ID }},
		{"both", store.Filter{Customer: someone.Name, Region: "nowhere"}, func(store.Customer) bool { return false }},
	}
	for _, tt := range tests {
		tt.filter.Limit = 2000
		var want []int64
		for _, o := range all {
			if tt.want(customers[o.CustomerID]) {
				want = append(want, o.ID)
			}
		}
		var got []int64
		for _, o := range openOrders(t, s, tt.filter) {
			got = append(got, o.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got orders %v, want %v", tt.name, got, want)
		}
	}
	if got := openOrders(t, s, store.Filter{Limit: 3}); len(got) != 3 || got[0] != all[0] {
		t.Errorf("limit 3 gave %v", got)
	}
}

func TestCreateIsListed(t *testing.T) {
	t.Parallel()
	s := seeded(t, 100)
	stranger := store.NewOrder{Customer: "stranger", Region: "south coast", Item: "anvil", AmountCents: 9900}
	for _, n := range []store.NewOrder{lamp, stranger} {
		made, err := s.Create(t.Context(), n, eight.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		newest := openOrders(t, s, store.Filter{Customer: n.Customer, Region: n.Region, Limit: 1})
		if len(newest) != 1 || newest[0] != made {
			t.Errorf("newest order of %s is %v, want %v", n.Customer, newest, made)
		}
		items, err := s.Items(t.Context(), []int64{made.ItemID})
		if err != nil || items[made.ItemID].Name != n.Item {
			t.Errorf("items %v, error %v, want %q", items, err, n.Item)
		}
	}
}

func TestCreateAtOnce(t *testing.T) {
	t.Parallel()
	s := seeded(t, 100)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			n := store.NewOrder{Customer: fmt.Sprint("new ", i%3), Region: "coast", Item: "anvil"}
			if _, err := s.Create(t.Context(), n, eight); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := openOrders(t, s, store.Filter{Region: "coast", Limit: 100}); len(got) != 20 {
		t.Errorf("%d orders, want 20", len(got))
	}
}

func TestCreateRefusesNonsense(t *testing.T) {
	t.Parallel()
	s := seeded(t, 100)
	noCustomer, noRegion, noItem, cheap := lamp, lamp, lamp, lamp
	noCustomer.Customer, noRegion.Region, noItem.Item, cheap.AmountCents = "", "", "", -1
	for _, n := range []store.NewOrder{noCustomer, noRegion, noItem, cheap} {
		if _, err := s.Create(t.Context(), n, eight); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: error %v, want ErrInvalid", n, err)
		}
	}
}

func TestMonthlyReportAddsUp(t *testing.T) {
	t.Parallel()
	s := seeded(t, 300)
	var days []int
	var orders int64
	for _, month := range []time.Month{time.October, time.November} {
		report, err := s.MonthlyReport(t.Context(), store.ReportYear, month)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range report {
			days = append(days, d.Day)
			orders += d.Orders
			if d.RevenueCents < 500*d.Orders {
				t.Errorf("%v %d: revenue %d of %d orders", month, d.Day, d.RevenueCents, d.Orders)
			}
		}
	}
	if orders != 300 {
		t.Errorf("the two months have %d orders, want 300", orders)
	}
	if len(days) != 31+30 || !slices.IsSorted(days[:31]) || !slices.IsSorted(days[31:]) {
		t.Errorf("days %v, want each once and in order", days)
	}
}

func TestMonthlyReportRefusesNonsense(t *testing.T) {
	t.Parallel()
	s := seeded(t, 100)
	if _, err := s.MonthlyReport(t.Context(), 2026, 13); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("month 13: error %v, want ErrInvalid", err)
	}
}

func TestEndedContextStopsQueries(t *testing.T) {
	t.Parallel()
	s := seeded(t, 100)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.OpenOrders(ctx, store.Filter{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestOpenRefusesNonsense(t *testing.T) {
	t.Parallel()
	if _, err := store.Open("orders.db", 0); err == nil {
		t.Error("a pool of 0 connections was accepted")
	}
	if _, err := store.Open(t.TempDir()+"/empty.db", 1); err == nil {
		t.Error("a database without orders was accepted")
	}
}

func seeded(t *testing.T, orders int) *store.Store {
	t.Helper()
	seed, err := store.Ensure(t.Context(), t.TempDir(), orders, nil)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, seed)
}

func open(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(path, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openOrders(t *testing.T, s *store.Store, f store.Filter) []store.Order {
	t.Helper()
	orders, err := s.OpenOrders(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return orders
}

func customersOf(t *testing.T, s *store.Store, orders []store.Order) map[int64]store.Customer {
	t.Helper()
	var ids []int64
	for _, o := range orders {
		ids = append(ids, o.CustomerID)
	}
	customers, err := s.Customers(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return customers
}
