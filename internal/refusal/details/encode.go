package details

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rpcgate/rpcgate/internal/refusal"
)

// Append appends the bytes of [Status].
func Append(b []byte, r refusal.Refusal) []byte {
	b = appendVarint(b, 1, uint64(r.Code))
	b = appendString(b, 2, r.Message())
	for _, packed := range Packed(r) {
		size := fieldSize(packed.TypeUrl) + fieldSize(packed.Value)
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendString(b, packed.TypeUrl)
		if len(packed.Value) > 0 {
			b = protowire.AppendTag(b, 2, protowire.BytesType)
			b = protowire.AppendBytes(b, packed.Value)
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
