package details

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rpcgate/rpcgate/interceptor/internal/refusal"
)

// Kind is one of the details.
type Kind int

// The details in their order.
const (
	RetryInfo Kind = iota
	ErrorInfo
	RequestInfo

	kinds = iota
)

func (k Kind) typeURL() string {
	return [kinds]string{typeRetryInfo, typeErrorInfo, typeRequestInfo}[k]
}

// Type is the name of the detail's message.
func (k Kind) Type() string { return strings.TrimPrefix(k.typeURL(), "type.googleapis.com/") }

// Value is the encoded detail. It is in scratch or shares memory with other refusals,
// and must not be changed.
func (k Kind) Value(scratch []byte, r refusal.Refusal) []byte {
	switch k {
	case RetryInfo:
		var duration [maxDuration]byte
		return appendRetryInfo(scratch[:0], duration[:0], r.Delay)
	case ErrorInfo:
		return packErrorInfo(r).Value
	default:
		return appendString(scratch[:0], 1, r.RequestID())
	}
}

// Append appends the bytes of [Status].
func Append(b []byte, r refusal.Refusal) []byte {
	b = appendVarint(b, 1, uint64(r.Code))
	b = appendString(b, 2, r.Message())
	var scratch [160]byte // enough for the longest request id, 128 characters
	for k := range Kind(kinds) {
		url, value := k.typeURL(), k.Value(scratch[:], r)
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(fieldSize(url)+fieldSize(value)))
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, url)
		if len(value) > 0 {
			b = protowire.AppendTag(b, 2, protowire.BytesType)
			b = protowire.AppendBytes(b, value)
		}
	}
	return b
}

// fieldSize is the size of a field with a tag of one byte.
func fieldSize[T string | []byte](v T) int {
	if len(v) == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(len(v))
}
