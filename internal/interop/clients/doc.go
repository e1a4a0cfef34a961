// Command clients lets clients and proxies that others wrote meet a busy server, and prints what they do as a table in
// Markdown:
//
//	go run ./internal/interop/clients
//	go run ./internal/interop/clients -only curl
//	go run ./internal/interop/clients -write README.md
//	go run ./internal/interop/clients -install        # on Debian, as root
//
// Each row is a client, a kind of server and a promise. A row whose client is not installed says how to get it. A row that
// is known to fail, because of the client or of a proxy, says why. The command exits with 1 if another row fails.
package main
