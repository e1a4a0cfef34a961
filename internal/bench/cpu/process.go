package cpu

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/rpcgate/rpcgate/internal/bench/echo"
	"github.com/rpcgate/rpcgate/internal/bench/measure"
)

// ServeCommand makes this program the server of another one of its kind.
const ServeCommand = "serve"

// listing is the first line that a server prints: where its variants are, in their order.
type listing struct {
	Servers []echo.Server `json:"servers"`
}

// usage is what a server says of itself.
type usage struct {
	CPU time.Duration `json:"cpu"` // user and system, of the process so far
	// Heap and Stack are what Go has in use, and RSS is what the system has given to the process, in bytes.
	Heap  int64 `json:"heap"`
	Stack int64 `json:"stack"`
	RSS   int64 `json:"rss"`
	// Waiting is the number of calls that wait, in all variants together.
	Waiting int `json:"waiting"`
}

// What a server may be asked, a line each. It answers with a usage.
const (
	askNow  = "now"
	askGC   = "gc"   // once the garbage is collected
	askFree = "free" // once what is free is given back to the system
)

// Serve runs all variants until in ends. It prints a listing, then answers what it is asked.
func Serve(in io.Reader, out io.Writer) error {
	ballast := measure.Ballast()
	defer runtime.KeepAlive(ballast)
	var l listing
	all := variants()
	for _, v := range all {
		s, err := v.serve(v.gate)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", v.group, v.name, err)
		}
		l.Servers = append(l.Servers, s)
	}
	enc := json.NewEncoder(out)
	if err := enc.Encode(l); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		switch lines.Text() {
		case askGC:
			runtime.GC()
		case askFree:
			debug.FreeOSMemory()
		}
		u, err := ownUsage()
		if err != nil {
			return err
		}
		for _, v := range all {
			u.Waiting += v.waiting()
		}
		if err := enc.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

func ownUsage() (usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, err
	}
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return usage{}, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(status), &size, &resident); err != nil {
		return usage{}, err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	return usage{
		CPU:   time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Heap:  int64(mem.HeapAlloc),
		Stack: int64(mem.StackInuse),
		RSS:   resident * int64(os.Getpagesize()),
	}, nil
}

// process is a server in a process of its own.
type process struct {
	cmd     *exec.Cmd
	ask     io.WriteCloser
	answers *json.Decoder
	servers []echo.Server
}

// start runs this same program as a server. It ends with this process, at the latest.
func start() (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, ServeCommand)}
	p.cmd.Stderr = os.Stderr
	if p.ask, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.answers = json.NewDecoder(out)
	var l listing
	if err := p.answers.Decode(&l); err != nil {
		_ = p.stop()
		return nil, fmt.Errorf("the server process: %w", err)
	}
	p.servers = l.Servers
	return p, nil
}

// usage asks the server what it has used so far.
func (p *process) usage(question string) (usage, error) {
	if _, err := fmt.Fprintln(p.ask, question); err != nil {
		return usage{}, fmt.Errorf("the server process: %w", err)
	}
	var u usage
	if err := p.answers.Decode(&u); err != nil {
		return usage{}, fmt.Errorf("the server process: %w", err)
	}
	return u, nil
}

func (p *process) stop() error {
	_ = p.ask.Close() // which ends it
	return p.cmd.Wait()
}
