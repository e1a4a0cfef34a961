package gate

import (
	"context"
	"testing"
)

func BenchmarkAcquireRelease(b *testing.B) {
	g := Must(New("bench", 1000))
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		l, err := g.Acquire(ctx, Call{})
		if err != nil {
			b.Fatal(err)
		}
		l.Release()
	}
}
func BenchmarkAcquireReleaseParallel(b *testing.B) {
	g := Must(New("bench", 1000))
	ctx := context.Background()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			l, err := g.Acquire(ctx, Call{})
			if err != nil {
				b.Fatal(err)
			}
			l.Release()
		}
	})
}
