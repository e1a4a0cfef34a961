package pool

import (
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/rpcgate/rpcgate/demo/app"
)

var calls int // tests may have variables

func TestBubble(t *testing.T) {
	synctest.Test(t, func(*testing.T) { time.Sleep(time.Hour); helper() })
}

func TestRealClock(t *testing.T) {
	t.Run("sub", func(*testing.T) { time.Sleep(time.Millisecond) })
}

func helper() { time.Sleep(time.Minute) }

func bubble(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }
