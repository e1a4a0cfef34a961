package pool // variables of every kind

import (
	"errors"
	"regexp"
	"sync"
	"sync/atomic"
)

var (
	ErrFull        = errors.New("full")
	errEmpty       = errors.New("empty")
	names          = map[int]string{1: "one"}
	pattern        = regexp.MustCompile("^/")
	buffers        = sync.Pool{New: func() any { return make([]byte, 64) }}
	once           = sync.OnceValue(func() []int { return make([]int, 4) })
	_        error = (*failure)(nil)
)

var (
	later   string
	counter atomic.Int64
	lock    = &sync.Mutex{}
	seen    = make(map[string]bool)
	table   = map[string]int{}
	level   = 1
	config  = struct{ max int }{8}
	shared  = [2]int{}
	Default = "open to anybody"
	excused atomic.Int64
)

type failure struct{}

func (*failure) Error() string { return names[1] + pattern.String() + errEmpty.Error() }

func change() *int {
	names := map[int]string{} // shadows the table, which stays as it is
	names[2] = "two"
	delete(table, "a")
	level++
	config.max = 9
	return &shared[0]
}
