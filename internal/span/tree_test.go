package span

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// check verifies the order, the priorities and the sums of a tree.
func check(t require.TestingT, tree *Tree[int]) {
	n := 0
	var walk func(x, parent *Node[int])
	walk = func(x, parent *Node[int]) {
		if x == nil {
			return
		}
		n++
		require.Same(t, parent, x.parent)
		if parent != nil {
			require.LessOrEqual(t, x.priority, parent.priority)
		}
		walk(x.left, x)
		walk(x.right, x)
		was := *x
		x.sum()
		require.Equal(t, was, *x)
	}
	walk(tree.root, nil)
	require.Equal(t, n, tree.Len())
	require.True(t, slices.IsSortedFunc(tree.Meeting(0, ^uint64(0), nil), func(a, b *Node[int]) int { return int(a.Lo) - int(b.Lo) }))
}

// The tree finds what a list finds.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree[int]
		var list []*Node[int]
		span := func() (lo, hi uint64) {
			lo = rapid.Uint64Range(0, 40).Draw(t, "lo")
			return lo, lo + rapid.Uint64Range(1, 12).Draw(t, "length")
		}
		asked := func() (lo, hi uint64) {
			lo = rapid.Uint64Range(0, 40).Draw(t, "from")
			return lo, lo + rapid.Uint64Range(0, 12).Draw(t, "asked")
		}
		meeting := func(lo, hi uint64) (m []*Node[int]) {
			for _, n := range list {
				if n.Lo < hi && lo < n.Hi && lo < hi {
					m = append(m, n)
				}
			}
			return m
		}
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch k := rapid.IntRange(0, 9).Draw(t, "what"); {
			case k < 4 || len(list) == 0:
				lo, hi := span()
				n := &Node[int]{Lo: lo, Hi: hi, Seq: rapid.Uint64Range(0, 30).Draw(t, "seq"), Value: i}
				list = append(list, n)
				tree.Insert(n)
			case k < 6:
				at := rapid.IntRange(0, len(list)-1).Draw(t, "which")
				tree.Delete(list[at])
				list = slices.Delete(list, at, at+1)
			case k < 7:
				n := list[rapid.IntRange(0, len(list)-1).Draw(t, "which")]
				lo := rapid.Uint64Range(n.Lo, n.Hi-1).Draw(t, "from")
				tree.Cut(n, lo, rapid.Uint64Range(lo+1, n.Hi).Draw(t, "to"))
			default:
				lo, hi := asked()
				want := meeting(lo, hi)
				require.ElementsMatch(t, want, tree.Meeting(lo, hi, nil))
				if n := tree.Any(lo, hi); n == nil {
					require.Empty(t, want)
				} else {
					require.Contains(t, want, n)
				}
				before := rapid.Uint64Range(0, 31).Draw(t, "before")
				var last *Node[int]
				for _, n := range want {
					if n.Seq < before && (last == nil || n.Seq > last.Seq) {
						last = n
					}
				}
				if n := tree.Latest(lo, hi, before); last == nil {
					require.Nil(t, n)
				} else {
					require.NotNil(t, n)
					require.Equal(t, last.Seq, n.Seq)
				}
			}
			check(t, &tree)
		}
	})
}

// The steps of an insertion, a search and a deletion grow as the logarithm of the nodes.
func TestSteps(t *testing.T) {
	per := func(n int) float64 {
		var tree Tree[int]
		rng := rand.New(rand.NewPCG(1, 2))
		nodes := make([]*Node[int], n)
		for i, at := range rng.Perm(n) {
			nodes[i] = &Node[int]{Lo: uint64(at) * 4, Hi: uint64(at)*4 + 4, Seq: uint64(i)}
			tree.Insert(nodes[i])
		}
		for range n {
			at := rng.Uint64N(uint64(n)) * 4
			require.Len(t, tree.Meeting(at, at+4, nil), 1)
			require.NotNil(t, tree.Any(at, at+4))
			require.NotNil(t, tree.Latest(at, at+4, ^uint64(0)))
			require.NotNil(t, tree.Latest(0, ^uint64(0), ^uint64(0)))
		}
		for _, n := range nodes {
			tree.Delete(n)
		}
		return float64(tree.Steps()) / float64(n)
	}
	few, many := per(1e3), per(1e5)
	require.Less(t, many, 2.5*few, "a logarithm grows by 1.7")
}
