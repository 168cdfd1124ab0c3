package translate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const blocksHead = "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\n"

// Operations of blocks and groups are refused where not all threads come to them, and the message says what to write.
func TestBlockOperationsAreRefusedInBranches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{"if t.Local(0) > 3 {\n\t\ty[0] = grid.BlockSum(t, x[0])\n\t}", "k.go:8:10: grid.BlockSum must be a statement of the kernel itself, or of a loop or an if that all threads " +
			"of the block run alike, because its condition depends only on constants, parameters and the like; write it outside of the statement that begins in line 7, " +
			"and only the other statements inside"},
		{"for range x[t.Global(0)] {\n\t\ty[0] = grid.GroupMax(t, x[0])\n\t}", "k.go:7:12: a loop around a barrier must run as often for all threads"},
		{"if x[t.Global(0)] > 3 {\n\t\treturn\n\t}\n\ty[0] = grid.BlockSum(t, x[0])", "k.go:8:3: threads that return here do not come to the barriers that follow"},
		{"y[0] = 2 * grid.BlockSum(t, x[0])", "k.go:7:13: BlockSum has a barrier, so its call must be a statement of its own, such as v := BlockSum(..)"},
		{"if n := grid.BlockCount(t, x[0] > 3); n > 1 {\n\t\ty[0] = 1\n\t}", "k.go:7:10: BlockCount has a barrier, so its call must be a statement of its own"},
		{"switch x[0] {\n\tcase 1:\n\t\ty[0] = grid.BlockSum(t, x[0])\n\t}", "k.go:9:10: BlockSum has a barrier, to which all threads of the block must come"},
		{"type local uint32\n\ts := grid.BlockSum(t, local(x[0]))\n\ty[0] = uint32(s)", "k.go:8:7: grid.BlockSum takes no values of type local, which the kernel declares; declare it outside of the kernel"},
		{"y[0] = grid.BlockReduce(t, x[0], func(a, b uint32) uint32 { return a })", "a closure has no translation"},
		{"y[0] = lane(t)", "k.go:11:16: grid.GroupLane has no translation here; call it in the kernel, and pass the result on"},
	} {
		src := blocksHead + "//halyard:kernel\nfunc k(t grid.Thread, x, y []uint32) {\n\t" + c.body + "\n}\n\nfunc lane(t grid.Thread) uint32 {\n\treturn uint32(grid.GroupLane(t))\n}\n"
		_, err := translated(t, src)
		if assert.Error(t, err, c.body) {
			assert.Contains(t, err.Error(), c.want, c.body)
			assert.Equal(t, 0, strings.Count(err.Error(), "\n"), "refused once: %s", err)
		}
	}
}

// The result of an operation of a block is the same for all its threads, so a barrier may depend on it; that of a group is not.
func TestBarriersDependOnBlocks(t *testing.T) {
	t.Parallel()
	const kernel = "//halyard:kernel\nfunc k(t grid.Thread, x, y []uint32) {\n\tfor i := 0; i < 3; i++ {\n\t\tv := grid.%s(t, x[t.Global(0)])\n\t\tif v > 3 {\n\t\t\tt.Barrier()\n\t\t}\n\t\ty[t.Global(0)] = v\n\t}\n}\n"
	_, err := translated(t, blocksHead+strings.Replace(kernel, "%s", "BlockSum", 1))
	require.NoError(t, err)
	_, err = translated(t, blocksHead+strings.Replace(kernel, "%s", "GroupSum", 1))
	assert.ErrorContains(t, err, "t.Barrier must be a statement of the kernel itself")
}

// An operation takes values of a type that has another name.
func TestBlockOperationsOfAliases(t *testing.T) {
	t.Parallel()
	_, err := translated(t, blocksHead+"type wide = float64\n\n//halyard:kernel\nfunc k(t grid.Thread, x []wide) {\n\tv := grid.BlockSum(t, x[t.Global(0)])\n"+
		"\tx[t.Global(0)] = v\n}\n")
	require.NoError(t, err)
}

// On the host the values of a block are combined in one loop, and shared memory for them is not set to zero on devices.
func TestBlockOperationsAreOneLoopOnTheHost(t *testing.T) {
	t.Parallel()
	made, err := translated(t, blocksHead+"//halyard:kernel\nfunc k(t grid.Thread, x, y []float32) {\n\tv := grid.BlockSum(t, x[t.Global(0)])\n\tt.Barrier()\n"+
		"\ty[t.Global(0)] = v\n}\n")
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), "for i := 0; i < n/2; i++ {\n\t\t\tvalues[i] = values[2*i] + values[2*i+1]")
	assert.Equal(t, 2, strings.Count(string(made.Go), "for tx :="))
	assert.NotContains(t, string(made.Go), "Kept", "the threads need not keep what is the same for all")
	assert.NotContains(t, string(made.Go), "v_zero")
	assert.Contains(t, string(made.Go), "Threads: 1024")
	assert.NotContains(t, string(made.Go), "Dims:", "the number of a thread needs no dimension of the grid")
	assert.Contains(t, made.C, ", go_max_i64(h_threads, 2), ", "compilers see that there is a round: PoCL's takes twice as long for each further loop that may have none")
	assert.NotContains(t, string(made.Go), "(u32)INDEX", "a grid may have more than 2^32 threads")
	made, err = translated(t, blocksHead+"//halyard:kernel\nfunc k(t grid.Thread, x, y []float32) {\n\tv := grid.BlockSum(t, x[t.Global(1)])\n\ty[t.Global(0)] = v\n}\n")
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), "Dims: 2, DimsAt: \"k.go:7\"")
}

// Numbers and bools are combined in rounds that devices may run without memory; structures are not. Neither are the rounds of a function that is
// printed as statements.
func TestRoundsOfBlockOperations(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"grid.BlockSum(t, x[0])":              "GO_ROUNDS(SUM, h_rank, h_threads, go_max_i64(h_threads, 2), f32, h_values.a, ",
		"grid.GroupScan(t, x[0])":             "GO_GROUP(SCAN, h_rank, h_threads, ",
		"grid.GroupCount(t, x[0] > 1)":        "GO_GROUP(SUM, h_rank, h_threads, ",
		"grid.BlockAny(t, x[0] > 1)":          ", v_own != 0 || v_other != 0)",
		"grid.BlockReduce(t, x[0], most)":     ", f_most(v_own, v_other))",
		"grid.GroupMax(t, int64(x[0]))":       ", go_max_i64(v_own, v_other))",
		"grid.BlockReduce(t, pair{}, second)": "GO_ORDERED for (; h_d < ",
		"grid.BlockSum(t, complex(x[0], 1))":  "GO_ORDERED for (; h_d < ",
	} {
		made, err := translated(t, blocksHead+"type pair struct{ a, b int32 }\n\nfunc second(p, q pair) pair {\n\treturn pair{q.a, p.b}\n}\n\n"+
			"func most(a, b float32) float32 {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}\n\n"+
			"//halyard:kernel\nfunc k(t grid.Thread, x []float32, y []uint32) {\n\tv := "+call+"\n\t_ = v\n\ty[0] = 1\n}\n")
		require.NoError(t, err, call)
		assert.Contains(t, made.C, want, call)
		assert.Equal(t, !strings.HasPrefix(want, "GO_ORDERED"), strings.Contains(made.C, "v_own"), call)
	}
}

// Tiles are refused that are no shared memory, whose elements are not those of the matrix, or whose place differs between threads.
func TestTilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, want string }{
		{"grid.LoadTile(t, s[:], x, t.Local(0), 0, grid.EdgeZero)", "k.go:9:2: the row and the column of a tile must be the same for all threads of the block"},
		{"grid.LoadTile(t, s[:], x, 0, 0, edge)", "k.go:9:34: grid.LoadTile takes a constant here"},
		{"grid.StoreTile(t, s[:], x, 0, 0, -1)", "k.go:9:35: grid.StoreTile takes a constant here, of at least 0"},
		{"var own [4][8]float32\n\tgrid.LoadTile(t, own[:], x, 0, 0, grid.EdgeZero)", "k.go:10:19: grid.LoadTile takes tile[:] of an array"},
		{"grid.LoadTile(t, s[1:], x, 0, 0, grid.EdgeZero)", "k.go:9:19: grid.LoadTile takes tile[:] of an array"},
		{"w := grid.Shared[[4][8]int32](t)\n\tgrid.LoadTile(t, w[:], x, 0, 0, grid.EdgeZero)", "k.go:10:19: grid.LoadTile takes a tile of arrays of float32"},
		{"if t.Local(0) > 3 {\n\t\tgrid.LoadTile(t, s[:], x, 0, 0, grid.EdgeZero)\n\t}", "k.go:10:3: grid.LoadTile must be a statement of the kernel itself"},
	} {
		_, err := translated(t, blocksHead+"//halyard:kernel\nfunc k(t grid.Thread, x grid.Matrix[float32], edge grid.Edge) {\n\t"+
			"s := grid.Shared[[4][8]float32](t)\n\t_ = s\n\t"+c.body+"\n}\n")
		if assert.Error(t, err, c.body) {
			assert.Contains(t, err.Error(), c.want, c.body)
		}
	}
}

// Tiles that are loaded one after the other have no barrier between them, and the host loads each at once.
func TestTilesLoadedTogether(t *testing.T) {
	t.Parallel()
	const two = "grid.LoadTile(t, s[:], x, 0, 0, grid.EdgeClamp)\n\t%sgrid.LoadTile(t, r[:], x, 4, %s, grid.EdgeWrap)\n"
	for between, n := range map[string]int{two: 3, strings.Replace(two, "%s", "t.Barrier()\n\t", 1): 6} {
		src := strings.Replace(strings.Replace(between, "%sgrid", "grid", 1), "%s", "8", 1)
		made, err := translated(t, blocksHead+"//halyard:kernel\nfunc k(t grid.Thread, x grid.Matrix[float32], y []float32) {\n\t"+
			"s := grid.Shared[[4][8]float32](t)\n\tr := grid.Shared[[4][8]float32](t)\n\t"+src+"\ty[t.Global(0)] = s[1][t.Local(0)] + r[2][t.Local(0)]\n}\n")
		require.NoError(t, err)
		assert.Equal(t, n, strings.Count(made.C, "BARRIER()"), src) // one behind the zeros
		assert.Contains(t, string(made.Go), "grid.LoadTileOf(s[:], x, top, left, 1)")
		assert.Contains(t, string(made.Go), "grid.LoadTileOf(r[:], x, top2, left2, 2)")
	}
}
