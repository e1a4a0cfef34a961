package measure

import (
	"math"
	"sync/atomic"
	"testing"
	"time"
)

func TestTimeDoesWhatItCounts(t *testing.T) {
	done := 0
	var sink []byte
	timings := NewLab(true).Time(Plan{Rounds: 3, Sample: time.Millisecond}, []Case{
		{Name: "none", Run: func(n int) {
			for range n {
				done++
			}
		}},
		{Name: "one", Run: func(n int) {
			for range n {
				sink = make([]byte, 64)
			}
		}},
	})
	_ = sink
	if done == 0 {
		t.Error("the case did not run")
	}
	for i, want := range []float64{0, 1} {
		timing := timings[i]
		if math.Abs(timing.Allocs-want) > 0.1 || math.Abs(timing.Bytes-64*want) > 8 {
			t.Errorf("%s: %.2f allocations of %.1f bytes, want %g of 64", timing.Name, timing.Allocs, timing.Bytes, want)
		}
		if timing.NS.Kept() != 3 || timing.NS.Median() <= 0 {
			t.Errorf("%s: times %v, want 3 above 0", timing.Name, timing.NS)
		}
	}
}

func TestWorkersShareTheWork(t *testing.T) {
	for _, n := range []int{1, 7, 100, 12345} {
		counts := make(chan int, n)
		run(Case{Run: func(n int) { counts <- n }}, 4, n)
		close(counts)
		sum := 0
		for c := range counts {
			sum += c
		}
		if sum != n {
			t.Errorf("did %d operations of %d", sum, n)
		}
	}
}

func TestCheckedDropsWhatHadNoCores(t *testing.T) {
	for _, c := range []struct {
		name  string
		least float64
		kept  bool
		runs  int
	}{
		{"there", 0, true, 1},
		{"not there", 1000, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := 0
			x := NewLab(false).Checked(c.least, func() float64 { runs++; return 1 })
			if kept := !math.IsNaN(x); kept != c.kept || runs != c.runs {
				t.Errorf("kept: %v after %d runs, want %v after %d", kept, runs, c.kept, c.runs)
			}
		})
	}
}

func TestCPUTimeLeavesOutWhatOthersDo(t *testing.T) {
	var sink atomic.Uint64
	own := Case{Run: func(n int) {
		for i := range n {
			sink.Add(spin(uint64(i) + 1))
		}
	}}
	others := Case{Run: func(n int) {
		done := make(chan struct{})
		go func() {
			own.Run(n)
			close(done)
		}()
		<-done
	}}
	worked, waited := run(own, 0, 10), run(others, 0, 10)
	if waited > worked/2 {
		t.Errorf("%s while another goroutine worked, which takes %s: want next to nothing", waited, worked)
	}
}
