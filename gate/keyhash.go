package gate

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// A key may be a credential, such as an API key. What shows keys to people shows a
// hash instead: JSON of a [Snapshot] or [Waiter], gatelog and gatedebug.

// shortestSecret is far too long to be guessed.
const shortestSecret = 16

// WithKeySecret sets the secret with which keys are hashed before they are shown. By
// default it is random, the same for all gates of the process: a key has one hash in
// the log and on the page, and another one after a restart. Give all gates of a fleet
// one secret if its replicas are to agree. It is an error if it is shorter than 16
// bytes.
//
// A hash is the first 32 hexadecimal digits of HMAC-SHA256 of the key. Who has the
// secret finds a client by its key:
//
//	printf %s "$KEY" | openssl dgst -sha256 -hmac "$SECRET"
func WithKeySecret(secret []byte) Option {
	return optionFunc(func(s *settings) error {
		if len(secret) < shortestSecret {
			return fmt.Errorf("WithKeySecret: want at least %d bytes, got %d", shortestSecret, len(secret))
		}
		s.keyHasher = &keyHasher{slices.Clone(secret)}
		return nil
	})
}

// KeyHash returns a hash of the call's key, for logs; see [WithKeySecret]. It is empty
// if there is no key.
func (e Event) KeyHash() string { return e.keyHasher.hash(e.Call.Key) }

// KeyHash returns a hash of the key, for logs; see [WithKeySecret]. It is empty if
// there is no key.
func (h Holder) KeyHash() string { return h.keyHasher.hash(h.Key) }

// KeyHash returns a hash of the key, for logs; see [WithKeySecret]. It is empty if
// there is no key.
func (w Waiter) KeyHash() string { return w.keyHasher.hash(w.Key) }

// MarshalJSON writes the hash of the key, not the key.
func (h Holder) MarshalJSON() ([]byte, error) {
	type plain Holder
	h.Key = h.KeyHash()
	return json.Marshal(plain(h))
}

// MarshalJSON writes the hash of the key, not the key.
func (w Waiter) MarshalJSON() ([]byte, error) {
	type plain Waiter
	w.Key = w.KeyHash()
	return json.Marshal(plain(w))
}

// keyHasher hashes keys with a secret. A nil keyHasher has the secret of the process.
type keyHasher struct{ secret []byte }

// hasherOfProcess has a random secret.
var hasherOfProcess = sync.OnceValue(func() *keyHasher {
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	return &keyHasher{secret}
})

// hash returns the first 128 bits of an HMAC as hexadecimal digits, or "" for "".
func (h *keyHasher) hash(key string) string {
	if key == "" {
		return ""
	}
	if h == nil {
		h = hasherOfProcess()
	}
	mac := hmac.New(sha256.New, h.secret)
	_, _ = io.WriteString(mac, key) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
