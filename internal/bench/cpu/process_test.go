package cpu

import (
	"context"
	"os"
	"slices"
	"testing"

	"github.com/rpcgate/rpcgate/internal/bench/echo"
)

// TestMain lets the test program be the server process, too.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{ServeCommand}) {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func TestVariantsDoWhatTheySay(t *testing.T) {
	p, err := start()
	if err != nil {
		t.Fatal(err)
	}
	before, err := p.usage(askGC)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range variants() {
		if v.does == parks {
			continue
		}
		for _, size := range []int{small, large} {
			client, err := echo.NewClient(p.servers[i].Protocol, p.servers[i].Addr, size)
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if err := client.Expect(context.Background(), v.does == refuses); err != nil {
					t.Errorf("%s, %s, %s: %v", v.group, v.name, bytes(size), err)
				}
			}
			client.Close()
		}
	}
	after, err := p.usage(askNow)
	if err != nil {
		t.Fatal(err)
	}
	if after.CPU <= before.CPU || after.RSS <= 0 || after.Waiting != 0 {
		t.Errorf("usage %+v after %+v", after, before)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the server process: %v", err)
	}
}

func TestParkedCallsWaitAtTheirGate(t *testing.T) {
	for i, v := range variants() {
		if v.does != parks {
			continue
		}
		if grown, err := parked(i, 10, small); err != nil || grown.Heap <= 0 || grown.Stack <= 0 {
			t.Errorf("%s: grown by %+v, %v", v.name, grown, err)
		}
	}
}

func TestFloorsStandBeforeTheirGates(t *testing.T) {
	all := variants()
	parking := all[len(all)-2*len(spots()):]
	for i, s := range spots() {
		floor, gated := parking[2*i], parking[2*i+1]
		if floor.name != s.name+", floor" || gated.name != s.name {
			t.Errorf("spot %d, %s: floor %q, gate %q", i, s.name, floor.name, gated.name)
		}
	}
	for _, v := range all[:len(all)-len(parking)] {
		if v.does == parks {
			t.Errorf("%s, %s does not come last", v.group, v.name)
		}
	}
}

func TestGroupsHaveOneBaseEach(t *testing.T) {
	bases := map[string]int{}
	for _, v := range variants() {
		if v.does == parks {
			continue
		}
		bases[v.group] += 0
		if v.base {
			bases[v.group]++
		}
	}
	for group, n := range bases {
		if n != 1 {
			t.Errorf("%s has %d bases", group, n)
		}
	}
}
