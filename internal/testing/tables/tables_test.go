package tables

import (
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
)

// A kernel with the table of SHA-256 has the sums of crypto/sha256.
func TestDigest(t *testing.T) {
	const n = 1000
	messages, want := make([]Message, n), make([][8]uint32, n)
	for i := range messages {
		m := &messages[i]
		m.Len = uint8(i % (len(m.Text) + 1))
		for j := range m.Text {
			m.Text[j] = uint8(i*131 + j*j*7)
		}
		sum := sha256.Sum256(m.Text[:m.Len])
		for j := range want[i] {
			want[i][j] = binary.BigEndian.Uint32(sum[4*j:])
		}
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		sums := halyard.New[[8]uint32](q, n)
		Digest(q, halyard.From(q, messages), sums)
		if got := sums.Values(); q.Err() == nil {
			assert.Equal(t, want, got)
		}
	})
}

// Tables of all types that elements may have, read by constant and other indexes, by range, as a whole, and by functions, have Go's values.
func TestLook(t *testing.T) {
	const n = 100
	rows, from := []float64{3.7, -1e10, 0.3}, make([]int32, n)
	for i := range from {
		from[i] = int32(i*i) % 31
	}
	sums, floats := make([]int64, n), make([]float64, n)
	for i := range sums {
		sums[i], floats[i] = looked(i, rows, from[i])
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		s, f := halyard.New[int64](q, n), halyard.New[float64](q, n)
		Look(q, halyard.From(q, rows), halyard.From(q, from), s, f)
		if got := f.Values(); q.Err() == nil {
			require.Equal(t, sums, s.Values())
			assert.Equal(t, floats, got)
		}
	})
}
