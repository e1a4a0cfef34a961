package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// proxy is a program in front of a server.
type proxy struct {
	tool tool
	file string // name of its configuration
	// config is the configuration, to listen on one address and to call another.
	config func(dir, listen, call string) (string, error)
	argv   func(dir, file string) []string
}

// start runs the proxy and returns its address.
func (p proxy) start(ctx context.Context, dir, call string) (addr string, stop func(), err error) {
	listen, err := freeAddr()
	if err != nil {
		return "", nil, err
	}
	// The user that a proxy changes to must find its files.
	if dir, err = os.MkdirTemp(dir, "proxy"); err != nil {
		return "", nil, err
	}
	text, err := p.config(dir, listen, call)
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, p.file)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	argv := p.argv(dir, file)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), "HOME="+dir), log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // ends its workers, too
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() {
		cancel()
		_ = cmd.Wait()
	}
	if err := await(ctx, listen); err != nil {
		stop()
		said, _ := os.ReadFile(log.Name())
		return "", nil, fmt.Errorf("%s does not listen: %w: %s", p.tool.name, err, tail(string(said)))
	}
	return listen, stop, nil
}

// freeAddr finds a port that was free a moment ago.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func await(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func haproxy() proxy {
	return proxy{
		tool: tool{name: "HAProxy", packages: []string{"haproxy"}, ask: []string{"haproxy", "-v"}},
		file: "haproxy.cfg",
		config: func(_, listen, call string) (string, error) {
			return fmt.Sprintf(`defaults
	mode http
	timeout connect 2s
	timeout client 35s
	timeout server 35s
frontend front
	bind %s proto h2
	default_backend back
backend back
	server one %s proto h2
`, listen, call), nil
		},
		argv: func(_, file string) []string { return []string{"haproxy", "-db", "-f", file} },
	}
}

func caddy() proxy {
	return proxy{
		tool: tool{name: "Caddy", packages: []string{"caddy"}, ask: []string{"caddy", "version"}},
		file: "Caddyfile",
		config: func(_, listen, call string) (string, error) {
			return fmt.Sprintf(`{
	admin off
	auto_https off
	servers {
		protocols h1 h2 h2c
	}
}
http://%s {
	reverse_proxy h2c://%s
}
`, listen, call), nil
		},
		argv: func(_, file string) []string {
			return []string{"caddy", "run", "--config", file, "--adapter", "caddyfile"}
		},
	}
}

func apache() proxy {
	return proxy{
		tool: tool{name: "Apache", packages: []string{"apache2"}, ask: []string{"/usr/sbin/apache2", "-v"}},
		file: "apache.conf",
		config: func(dir, listen, call string) (string, error) {
			return fmt.Sprintf(`ServerRoot %s
ServerName localhost
PidFile apache.pid
DefaultRuntimeDir %[1]s
ErrorLog error.log
User www-data
Group www-data
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
Listen %s
ProxyPass / http://%s/
`, dir, listen, call), nil
		},
		argv: func(_, file string) []string { return []string{"/usr/sbin/apache2", "-DFOREGROUND", "-f", file} },
	}
}

// nginx has the configuration of the demo, for HTTP/1.1 or for HTTP/2.
func nginx(http2 bool) proxy {
	return proxy{
		tool: tool{name: "nginx", packages: []string{"nginx-light"}, ask: []string{"/usr/sbin/nginx", "-v"}},
		file: "nginx.conf",
		config: func(_, listen, call string) (string, error) {
			text, err := os.ReadFile("demo/nginx/nginx.conf")
			if err != nil {
				return "", err
			}
			other, err := freeAddr()
			if err != nil {
				return "", err
			}
			one, two := listen, other
			if http2 {
				one, two = other, listen
			}
			return strings.NewReplacer("127.0.0.1:8080", call, "127.0.0.1:8000", one, "127.0.0.1:8001", two).Replace(string(text)), nil
		},
		argv: func(dir, file string) []string {
			argv := []string{"/usr/sbin/nginx", "-p", dir, "-c", file}
			if os.Getuid() == 0 {
				argv = append(argv, "-g", "user root;") // its own has no way into the folder
			}
			return argv
		},
	}
}

func proxyRows() []row {
	const earlyEnd = "HAProxy 2.6 makes CANCELLED of a stream that the server ends before the request has ended"
	python, servers := languages()[0], []server{grpcGo(), beforeDecode(), connectV1(), middleware()}
	const small = "200 refused calls of 5 KB on 8 threads, health checks beside them, one more call after them"
	posts := func(p proxy, kb int) row {
		return row{client: curl(), proxy: p, servers: httpServers(),
			tried: fmt.Sprintf("gets 429 for %d refused POSTs of %d KB, 16 at once, over HTTP/1.1, and answers to %[1]d health checks beside them", crowdSize, kb),
			run:   crowd(kb)}
	}
	rows := []row{
		{client: python.tool, proxy: haproxy(), servers: servers, tried: small, run: python.floods(5_000)},
		{client: python.tool, proxy: haproxy(), servers: servers, tried: "the same with 200 KB", run: python.floods(200_000),
			known: earlyEnd},
		{client: python.tool, proxy: haproxy(), servers: servers, tried: openStreams, run: python.many("streams"),
			known: earlyEnd},
		{client: python.tool, proxy: caddy(), servers: servers, tried: small, run: python.floods(5_000)},
		{client: python.tool, proxy: caddy(), servers: servers, tried: "the same with 200 KB", run: python.floods(200_000)},
		{client: python.tool, proxy: nginx(true), servers: servers, tried: small, run: python.floods(5_000)},
		{client: python.tool, proxy: nginx(true), servers: servers, tried: "the same with 200 KB", run: python.floods(200_000),
			known: "nginx 1.22 makes 502 of a stream that the server ends before the request has ended"},
	}
	for _, p := range []proxy{caddy(), apache(), nginx(false)} {
		rows = append(rows, posts(p, 15), posts(p, 50))
	}
	rows[len(rows)-1].known = "nginx 1.22 makes 502 of some answers to bodies above 16 KiB that it still sends"
	return rows
}
