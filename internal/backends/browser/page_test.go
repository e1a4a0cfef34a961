package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// complaints are what the browser says is wrong: errors of scripts, of the console, of the network, and violations of
// the content security policy.
type complaints struct {
	mu   sync.Mutex
	said []string
}

func (c *complaints) hear(event any) {
	var said string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			said = fmt.Sprintf("console: %v", e.Args)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			said = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	}
	if said != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.said = append(c.said, said)
	}
}

// open returns a browser that shows nothing yet.
func open(t *testing.T, heard *complaints) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewExecAllocator(t.Context(),
		chromedp.ExecPath("chromium"), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(patience))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("end of the browser: %v", err)
		}
		cancel()
	})
	chromedp.ListenTarget(ctx, heard.hear)
	return ctx
}

// none fails the test if anything was heard.
func (c *complaints) none(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, said := range c.said {
		t.Errorf("the browser complains: %s", said)
	}
}

// seen is what the page shows at a moment.
type seen struct {
	Stream, Clock       string
	Charts              []map[string]string
	Holders, Rejections int
}

const look = `({
	stream: document.documentElement.dataset.stream,
	clock: document.getElementById("clock").textContent,
	charts: [...document.querySelectorAll("figure.chart")].map((f) => ({ ...f.dataset })),
	holders: document.querySelectorAll("#holders tbody tr").length,
	rejections: document.querySelectorAll("#rejections tbody tr").length,
})`

func TestPageInAnIncident(t *testing.T) {
	addr, stopDemo := startDemo(t)
	stopLoad := load(t, addr)
	heard := &complaints{}
	ctx := open(t, heard)
	if err := chromedp.Run(ctx, chromedp.Navigate("http://"+addr+"/debug/gate/")); err != nil {
		t.Fatal(err)
	}
	chartsMove(t, ctx)
	verdict(t, ctx, "^db has been refusing calls since [0-9:]{8}$", "^for .* in flight .* refused/s")
	for _, s := range screens {
		shoot(t, ctx, s.name, s)
		readable(t, ctx, s.name)
		numbersFit(t, ctx, s.name)
		routesFit(t, ctx, s)
	}
	unitsOnPhone(t, ctx)
	givesWay(t, ctx, addr)
	stopLoad()
	verdict(t, ctx, "^(All 2 gates have|db has|reports has) room$", "^last refusal [0-9.]+ s ago at db · ")
	heard.none(t)
	stopDemo() // of which the browser complains
	verdict(t, ctx, "^Connection lost: no news since [0-9:]{8}$", "^State [0-9.]+ s ago: .* room")
	readable(t, ctx, "lost")
	shoot(t, ctx, "lost", screens[0])
}

// chartsMove waits until the charts, the holders and the refusals were seen to change.
func chartsMove(t *testing.T, ctx context.Context) {
	t.Helper()
	values := map[string]map[string]bool{} // by chart and series, all that were seen
	var held, refused bool
	eventually(t, "charts that move, holders and refusals", func() error {
		var now seen
		if err := chromedp.Run(ctx, chromedp.Evaluate(look, &now)); err != nil {
			return err
		}
		held, refused = held || now.Holders > 0, refused || now.Rejections > 0
		moving := 0
		for _, chart := range now.Charts {
			for series, value := range chart {
				name := chart["chart"] + " " + series
				if values[name] == nil {
					values[name] = map[string]bool{}
				}
				values[name][value] = true
				if series != "points" && series != "chart" && len(values[name]) >= 3 {
					moving++
				}
			}
		}
		if !held || !refused || moving < 3 {
			return fmt.Errorf("holders %t, refusals %t, %d series moved; last seen %+v", held, refused, moving, now)
		}
		return nil
	})
}

// verdict waits for a verdict whose head and facts match.
func verdict(t *testing.T, ctx context.Context, head, facts string) {
	t.Helper()
	eventually(t, "a verdict like "+head, func() error {
		var said [2]string
		if err := chromedp.Run(ctx, chromedp.Evaluate(
			`["verdict-head", "verdict-facts"].map((id) => document.getElementById(id).textContent)`, &said)); err != nil {
			return err
		}
		for i, want := range []string{head, facts} {
			if !regexp.MustCompile(want).MatchString(said[i]) {
				return fmt.Errorf("%q, want %s", said[i], want)
			}
		}
		return nil
	})
}

// givesWay opens as many streams as there may be. The page takes looks from then on. It is live again when there is
// room, or when somebody uses it.
func givesWay(t *testing.T, ctx context.Context, addr string) {
	t.Helper()
	await := func(stream, since string, actions ...chromedp.Action) (clock string) {
		t.Helper()
		eventually(t, "news while the stream is "+stream, func() error {
			var now seen
			actions := append(actions, chromedp.Evaluate(look, &now))
			if err := chromedp.Run(ctx, actions...); err != nil {
				return err
			}
			if now.Stream != stream || now.Clock == since {
				return fmt.Errorf("the stream is %s at %s, want %s after %s", now.Stream, now.Clock, stream, since)
			}
			clock = now.Clock
			return nil
		})
		return clock
	}
	leave := watch(t, addr, 16)
	clock := await("full", "")
	await("full", clock)
	leave()
	await("live", "")
	leave = watch(t, addr, 16)
	defer leave()
	await("full", "")
	await("live", "", chromedp.KeyEvent("x"))
}

// screen is what the page is looked at with.
type screen struct {
	name, scheme  string
	width, height int64
}

var screens = [...]screen{
	{"light", "light", 1280, 1000}, {"dark", "dark", 1280, 1000}, {"phone", "light", 390, 844}, {"phone-dark", "dark", 390, 844},
}

// shoot takes a picture of the whole page and checks that it is not wider than the screen.
func shoot(t *testing.T, ctx context.Context, name string, s screen) {
	t.Helper()
	var picture []byte
	var scrolls int64
	err := chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(s.width, s.height, 1, s.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.scheme}}),
		// Two frames, for the charts to be drawn again.
		evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil),
		chromedp.Evaluate(`document.documentElement.scrollWidth`, &scrolls),
		chromedp.FullScreenshot(&picture, 100))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if scrolls > s.width {
		t.Errorf("%s: the page is %d pixels wide on a screen of %d", name, scrolls, s.width)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), picture, 0o600); err != nil {
		t.Error(err)
	}
}

// evaluate waits for the promise that the expression is.
func evaluate(expression string, result any) chromedp.Action {
	return chromedp.Evaluate(expression, result,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
}
