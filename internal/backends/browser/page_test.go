package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// seen is what the page shows at a moment.
type seen struct {
	Stream              string
	Charts              []map[string]string
	Holders, Rejections int
}

const look = `({
	stream: document.documentElement.dataset.stream,
	charts: [...document.querySelectorAll("figure.chart")].map((f) => ({ ...f.dataset })),
	holders: document.querySelectorAll("#holders tbody tr").length,
	rejections: document.querySelectorAll("#rejections tbody tr").length,
})`

func TestPageUnderLoad(t *testing.T) {
	addr := startDemo(t)
	load(t, addr)
	var heard complaints
	ctx := open(t, &heard)
	if err := chromedp.Run(ctx, chromedp.Navigate("http://"+addr+"/debug/gate/")); err != nil {
		t.Fatal(err)
	}
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
	for _, s := range []struct {
		name, scheme  string
		width, height int64
	}{{"light", "light", 1280, 1000}, {"dark", "dark", 1280, 1000}, {"phone", "light", 390, 844}} {
		shoot(t, ctx, s.name, s.scheme, s.width, s.height)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, said := range heard.said {
		t.Errorf("the browser complains: %s", said)
	}
}

// shoot takes a picture of the whole page and checks that it is not wider than the screen.
func shoot(t *testing.T, ctx context.Context, name, scheme string, width, height int64) {
	t.Helper()
	var picture []byte
	var scrolls int64
	err := chromedp.Run(ctx,
		emulation.SetDeviceMetricsOverride(width, height, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		// Two frames, for the charts to be drawn again.
		chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`, nil,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
		chromedp.Evaluate(`document.documentElement.scrollWidth`, &scrolls),
		chromedp.FullScreenshot(&picture, 100))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if scrolls > width {
		t.Errorf("%s: the page is %d pixels wide on a screen of %d", name, scrolls, width)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), picture, 0o600); err != nil {
		t.Error(err)
	}
}
