package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

// random returns n random bytes.
func (t *trial) random(n int) []byte {
	b := make([]byte, n, n+8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:i+8], t.rng.Uint64())
	}
	return b
}

// large returns n bytes without a short period, faster than random.
func (t *trial) large(n int) []byte {
	b := make([]byte, n)
	seed := t.random(min(n, 1<<20+7))
	for at := 0; at < n; {
		at += copy(b[at:], seed)
	}
	return b
}

// repeated returns the n bytes that a fill with the pattern writes.
func repeated(p hal.Pattern, n int) []byte {
	var one [8]byte
	binary.LittleEndian.PutUint64(one[:], p.Bits)
	return bytes.Repeat(one[:p.Width], n/int(p.Width))
}

// difference describes where got differs from want; it returns "" if they are equal.
func difference(got, want []byte) string {
	if len(got) != len(want) {
		return fmt.Sprintf("%d bytes, want %d", len(got), len(want))
	}
	if bytes.Equal(got, want) {
		return ""
	}
	return mismatch(got, want)
}

// mismatch describes the bytes at which got differs from want. The slices differed when the caller compared them. They may be equal by
// now, if a device wrongly still writes.
func mismatch(got, want []byte) string {
	first, count := -1, 0
	for i := range got {
		if got[i] != want[i] {
			if first < 0 {
				first = i
			}
			count++
		}
	}
	if count == 0 {
		return fmt.Sprintf("some of %d bytes differed, and changed while they were compared", len(got))
	}
	to := min(first+8, len(got))
	return fmt.Sprintf("%d of %d bytes differ, first at %d: got % x, want % x", count, len(got), first, got[first:to], want[first:to])
}
