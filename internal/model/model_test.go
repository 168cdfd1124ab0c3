package model

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// devices opens a unified and three discrete devices, under a layer with a bug.
func devices(t testing.TB, plant func(*hooked.Backend)) (f Fleet) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "modelled", Discrete: 3})}
	if plant != nil {
		plant(b)
	}
	for ordinal := range 4 {
		d, err := hal.OpenWith(t.Context(), b, ordinal)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		var pair []*hal.Stream
		for range 2 {
			s, err := d.NewStream()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			pair = append(pair, s)
		}
		f.Devices, f.Streams = append(f.Devices, d), append(f.Streams, pair)
	}
	return f
}

func drawn(t *rapid.T) Draw {
	return func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	f := devices(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		p := Generate(drawn(t), f, 20, 20)
		again, err := Parse("# found yesterday\n\n" + p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
	})
	for _, bad := range []string{"", "0", "none", "5\nview", "5\nlook 0.0 [0,5) [0,0)", "5\nview 1.0 [0,5) [0,0)", "5\nview 0.0 [0,6) [0,0)", "5\nview 0.0 [2,2) [0,0)",
		"5\nview 0.0 [0,5) [1,2)", "5\nfill 0.0 [0,5) [0,0)", "5\nfill 1.-1 [0,5) [0,0)", "5\nupdate 0.0 [2,5) [1,3)", "5\nevict 1.0 [0,5) [0,0)"} {
		_, err := Parse(bad)
		require.Error(t, err, "%q", bad)
	}
}

// Of a long program that fails by two of its operations, these two are left.
func TestSimplifyLeavesWhatMatters(t *testing.T) {
	f := devices(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		p := Generate(drawn(t), f, 30, 30)
		last := p.Operations[len(p.Operations)-1]
		q := Simplify(p, 10_000, func(q Program) bool {
			return len(q.Operations) > 0 && q.Operations[len(q.Operations)-1].Kind == last.Kind
		})
		require.Len(t, q.Operations, 1)
		_, err := Parse(q.String())
		require.NoError(t, err)
		require.LessOrEqual(t, q.Operations[0].Hi-q.Operations[0].Lo, 1)
	})
}

// A bug is found, in a program of few operations.
func TestPlantedBugIsFoundAndSimplified(t *testing.T) {
	for name, plant := range map[string]func(*hooked.Backend){
		"copies between devices lose a byte": func(b *hooked.Backend) {
			b.CopyOut = func(s *hooked.Stream, dst unsafe.Pointer, src driver.Region) error {
				src.Len -= min(src.Len-1, 1)
				return s.Stream.CopyOut(dst, src)
			}
		},
		"fills are dropped": func(b *hooked.Backend) { b.Drop = func(s *hooked.Stream, op string) bool { return op == "Fill" } },
	} {
		t.Run(name, func(t *testing.T) {
			f := devices(t, plant)
			fails := func(p Program) bool { return Run[uint8](t.Context(), f, p) != nil }
			found := false
			for seed := uint64(1); seed < 50 && !found; seed++ {
				p := Generate(Seeded(seed), f, 40, 60)
				if found = fails(p); found {
					short := Simplify(p, 500, fails)
					require.LessOrEqual(t, len(short.Operations), 3, "%s", short)
					require.Error(t, Run[uint8](t.Context(), f, short))
				}
			}
			require.True(t, found)
		})
	}
}
