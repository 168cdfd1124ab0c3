package buffer

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/protocol"
)

// followingByEach is following as its comment says it: each range asks every access.
func followingByEach(list []part) (parts []part) {
	var cuts []uint64
	for _, p := range list {
		cuts = append(cuts, p.Lo, p.Hi)
	}
	slices.Sort(cuts)
	for i := 0; i+1 < len(cuts); i++ {
		p, used := part{Lo: cuts[i], Hi: cuts[i+1]}, false
		for _, q := range list {
			switch {
			case p.Lo == p.Hi || q.Lo > p.Lo || q.Hi < p.Hi:
			case !used:
				p.Mode, used = q.Mode, true
			case p.Mode == protocol.Read && q.Writes():
				p.Mode = protocol.ReadWrite
			}
		}
		if used {
			parts = appendPart(parts, p)
		}
	}
	return parts
}

// Parts of accesses in turn are those of the plain rule.
func TestFollowing(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var list []part
		for range rng.IntN(12) {
			lo := rng.Uint64N(20)
			mode := []protocol.Action{protocol.Read, protocol.ReadWrite, protocol.Overwrite}[rng.IntN(3)]
			list = append(list, part{Lo: lo, Hi: lo + rng.Uint64N(8), Mode: mode})
		}
		require.Equal(t, followingByEach(list), following(list), "%v", list)
	}
}

// Recording costs little more than in proportion to the launches.
func BenchmarkFollowing(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		list := slices.Repeat([]part{{Hi: 1 << 30, Mode: protocol.ReadWrite}}, n)
		for i := range list[:n/2] {
			list[i].Lo, list[i].Hi = uint64(i), uint64(i+n/2)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				following(list)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/access")
		})
	}
}
