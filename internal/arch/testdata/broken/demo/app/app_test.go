package app

import (
	"testing"
	"time"

	_ "github.com/rpcgate/rpcgate/demo"
)

func TestOfANestedModule(t *testing.T) { time.Sleep(time.Millisecond) }
