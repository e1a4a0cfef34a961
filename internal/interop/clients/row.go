package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// row is a promise to a client.
type row struct {
	client  tool
	proxy   proxy // between the client and the server; it may be none
	servers []server
	tried   string // what the client does, and what it should see
	// known says why the row may fail.
	known string
	// run lets the client meet a server. It says what was seen, and whether that is wrong.
	run func(ctx context.Context, m meeting) (seen string, err error)
}

// meeting is what a row needs to know.
type meeting struct {
	server server
	proxy  proxy
	dir    string // for files
	// slack is the share of calls that may fail: a client that gets no processor for 10 ms is not waited for.
	slack float64
}

func (r row) tools() []tool {
	if r.proxy.argv == nil {
		return []tool{r.client}
	}
	return []tool{r.client, r.proxy.tool}
}

// name is that of the client, and of the proxy.
func (r row) name() string {
	var names []string
	for _, t := range r.tools() {
		names = append(names, t.name)
	}
	return strings.Join(names, through)
}

const through = " through "

// outcome is what came of a row.
type outcome struct {
	versions []string
	missing  []tool
	servers  []result // one for each server
}

type result struct {
	server, seen string
	err          error
}

// meet runs a row with each of its servers.
func (r row) meet(ctx context.Context, dir string, slack float64) outcome {
	var o outcome
	for _, t := range r.tools() {
		version, err := t.version(ctx)
		if err != nil {
			o.missing = append(o.missing, t)
			continue
		}
		o.versions = append(o.versions, t.name+" "+version)
	}
	if len(o.missing) > 0 {
		return o
	}
	for _, s := range r.servers {
		ctx, cancel := context.WithTimeout(ctx, patience)
		seen, err := r.run(ctx, meeting{server: s, proxy: r.proxy, dir: dir, slack: slack})
		cancel()
		o.servers = append(o.servers, result{server: s.name, seen: seen, err: err})
	}
	return o
}

func (o outcome) err() error {
	var errs []error
	for _, s := range o.servers {
		if s.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.server, s.err))
		}
	}
	return errors.Join(errs...)
}

// String says what came of it in few words, the same of several servers only once.
func (o outcome) String() string {
	if len(o.missing) > 0 {
		var names, packages []string
		for _, t := range o.missing {
			names, packages = append(names, t.name), append(packages, t.packages...)
		}
		return fmt.Sprintf("%s not installed: `apt-get install %s`", strings.Join(names, ", "), strings.Join(packages, " "))
	}
	var said []string
	by := map[string][]string{} // servers by what was seen
	for _, s := range o.servers {
		what := s.seen
		if s.err != nil {
			what = "**" + oneLine(s.err.Error()) + "**"
		}
		if by[what] == nil {
			said = append(said, what)
		}
		by[what] = append(by[what], s.server)
	}
	if len(said) == 1 {
		return said[0]
	}
	for i, what := range said {
		said[i] = strings.Join(by[what], ", ") + ": " + what
	}
	return strings.Join(said, ". ")
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), "\n", ", ")), " ")
	if len(text) > 200 {
		text = text[:200] + "…"
	}
	return strings.ReplaceAll(text, "|", "/")
}

// failures counts the rows that have failed and are not known to.
func failures(rows []row, outcomes []outcome) (n int) {
	for i, o := range outcomes {
		if o.err() != nil && rows[i].known == "" {
			n++
		}
	}
	return n
}

// markdown makes the table.
func markdown(rows []row, outcomes []outcome) string {
	var b strings.Builder
	b.WriteString("| client | server | what it does and should see | what was seen | |\n|---|---|---|---|---|\n")
	for i, r := range rows {
		o := outcomes[i]
		names := make([]string, len(r.servers))
		for i, s := range r.servers {
			names[i] = s.name
		}
		verdict, seen := "✓", o.String()
		switch {
		case len(o.missing) > 0:
			verdict = "–"
		case o.err() != nil && r.known != "":
			verdict, seen = "(✗)", seen+". "+r.known
		case o.err() != nil:
			verdict = "**✗**"
		}
		client := r.name()
		if len(o.missing) == 0 {
			client = strings.Join(o.versions, through)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", client, strings.Join(names, ", "), r.tried, seen, verdict)
	}
	return b.String()
}
