package memhttp

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// Uploads posts n bodies of size bytes at once, over HTTP/1.1 and in chunks: the server
// does not know their size. The returned function waits until all are answered and the
// server has hung up on those that it did not read. It is for a synctest bubble.
func (s *Server) Uploads(n int, path, contentType string, size int) (wait func()) {
	client := s.Client()
	body := make([]byte, size)
	var uploads sync.WaitGroup
	for range n {
		uploads.Go(func() {
			// Hiding the type hides the size from the client.
			chunks := struct{ io.Reader }{bytes.NewReader(body)}
			// An error is that of a server that has hung up.
			if res, err := client.Post(s.URL+path, contentType, chunks); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	return func() {
		uploads.Wait()
		time.Sleep(time.Second)
	}
}
