package part_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm/part"
)

// cube is a periodic grid of one to three dimensions with a width of 1, in which each rank has as many elements however many ranks there are.
func cube(side ...int) (part.Layout, part.Halo, int) {
	shape, ranks, h := make([]int, len(side)), 1, part.Halo{}
	for d, n := range side {
		shape[d], ranks = 6*n, ranks*n
		h.Lo, h.Hi, h.Periodic = append(h.Lo, 1), append(h.Hi, 1), append(h.Periodic, true)
	}
	return part.Grid(shape, side), h, ranks
}

// What a rank looks at and keeps does not grow with the number of ranks, once a rank has all neighbours that it can have.
func TestPlansDoNotGrowWithRanks(t *testing.T) {
	for d, grids := range [][][]int{
		{{8}, {64}, {512}, {4096}},
		{{3, 3}, {8, 8}, {16, 32}, {64, 64}},
		{{3, 3, 3}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}},
	} {
		var most [3]int
		for i, side := range grids {
			l, h, ranks := cube(side...)
			for rank := 0; rank < ranks; rank += max(1, ranks/64) {
				neighbours, kept, seen, err := part.Stretches(l, h, rank, ranks)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 && rank == 0 {
					most = [3]int{[]int{2, 8, 26}[d], kept, seen}
				}
				if neighbours != most[0] || kept > most[1] || seen > most[2] {
					t.Fatalf("rank %d of %v has %d neighbours, keeps %d stretches and looks at %d, and of %v %v", rank, side, neighbours, kept, seen, grids[0], most)
				}
			}
		}
	}
}

// All 65,536 ranks of a job plan their exchanges, one after the other. What they send is what they receive.
func TestPlanOfManyRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("65,536 plans take a second")
	}
	const side, ranks = 256, 65536
	l, h := part.Grid([]int{2 * side, 2 * side}, []int{side, side}), part.Width(1, 1)
	var messages, elements [2]int
	for rank := range ranks {
		sent, received, out, in, err := part.Traffic(l, h, rank, ranks)
		require.NoError(t, err)
		require.True(t, sent <= 8 && received <= 8, "rank %d", rank)
		messages, elements = [2]int{messages[0] + sent, messages[1] + received}, [2]int{elements[0] + out, elements[1] + in}
	}
	sides, corners := 4*side*(side-1), 4*(side-1)*(side-1)
	assert.Equal(t, [2]int{sides + corners, sides + corners}, messages)
	assert.Equal(t, [2]int{2*sides + corners, 2*sides + corners}, elements)
}

// The guide says what a step of a program costs a rank that has all neighbours, by the number of ranks.
func TestGuideCountsMessages(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/processes.md")
	require.NoError(t, err)
	const n, size = 100_000, 4 // float32
	for _, side := range [][2]int{{2, 5}, {25, 40}, {250, 400}} {
		ranks := side[0] * side[1]
		cost := func(l part.Layout, h part.Halo) string {
			messages, bytes := 0, 0
			for rank := range ranks {
				if rank < ranks/2-side[1] || rank > ranks/2+side[1] {
					continue // those in the middle have all neighbours
				}
				sent, _, out, _, err := part.Traffic(l, h, rank, ranks)
				require.NoError(t, err)
				messages, bytes = max(messages, sent), max(bytes, size*out)
			}
			return fmt.Sprintf("%d, %s", messages, thousands(bytes))
		}
		rows := cost(part.Grid([]int{n, n}, []int{ranks, 1}), part.Width(1, 0))
		blocks := cost(part.Grid([]int{n, n}, side[:]), part.Width(1, 1))
		each := size * (n / ranks) * (n / ranks)
		row := fmt.Sprintf("| %s | %s | %s | %s, %s |", thousands(ranks), rows, blocks, thousands(ranks-1), thousands(each*(ranks-1)))
		assert.True(t, strings.Contains(string(guide), row), "the guide lacks %s", row)
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
