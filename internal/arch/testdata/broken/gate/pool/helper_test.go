package pool

import (
	"testing"
	"time"
)

func TestBubbleOfAHelper(t *testing.T) {
	bubble(t, func(*testing.T) { time.Sleep(time.Hour) })
}

func TestNoBubble(t *testing.T) {
	t.Run("sub", func(*testing.T) { time.Sleep(time.Millisecond) })
}
