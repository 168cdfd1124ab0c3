package translate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const itsShared = "s := grid.Shared[[8]int32](t)\nme := t.Local(0)\n"

// sharedKernels are bodies of kernels with shared memory, which may be written before any thread can read it.
var sharedKernels = []struct {
	name   string
	body   string
	filled bool
}{
	{"at once", itsShared + "s[me] = x[0]\nt.Barrier()\nx[1] = s[0]", true},
	{"without a variable", "s := grid.Shared[[8]int32](t)\ns[t.Local(0)] = 1\nt.Barrier()\nx[1] = s[0]", true},
	{"twice", itsShared + "s[me] = 0\nif x[0] > 0 {\n\ts[me] = s[me] + 1\n}\nt.Barrier()\nx[1] = s[0]", true},
	{"in a loop", itsShared + "for k := 0; k < len(x); k++ {\n\ts[me] = x[k]\n\tt.Barrier()\n\tx[k] = s[7-me]\n\tt.Barrier()\n}", true},
	{"before a loop that begins with a barrier", itsShared + "s[me] = x[me]\nfor h := 4; h > 0; h /= 2 {\n\tt.Barrier()\n\tif me < h {\n\t\ts[me] += s[me+h]\n\t}\n}\nx[0] = s[0]", true},
	{"of two dimensions", "s := grid.Shared[[4][2]int32](t)\ns[t.Local(1)][t.Local(0)] = 1\nt.Barrier()\nx[0] = s[3][1]", true},

	{"another's", itsShared + "s[7-me] = 1\nt.Barrier()\nx[1] = s[0]", false},
	{"some threads only", itsShared + "if me < 4 {\n\ts[me] = 1\n}\nt.Barrier()\nx[1] = s[0]", false},
	{"read before", itsShared + "x[0] = s[0]\ns[me] = 1\nt.Barrier()\nx[1] = s[0]", false},
	{"read by the assignment", itsShared + "s[me] = s[me] + 1\nt.Barrier()\nx[1] = s[0]", false},
	{"added to", itsShared + "s[me] += 1\nt.Barrier()\nx[1] = s[0]", false},
	{"another's before the barrier", itsShared + "s[me] = 1\nx[0] = s[0]\nt.Barrier()\nx[1] = s[0]", false},
	{"no barrier", itsShared + "s[me] = 1\nx[1] = s[0]", false},
	{"behind the loop", itsShared + "for k := 0; k < len(x); k++ {\n\ts[me] = x[k]\n\tt.Barrier()\n}\nx[0] = s[0]", false},
	{"a loop that may not run", itsShared + "s[me] = x[me]\nfor h := len(x); h > 0; h /= 2 {\n\tt.Barrier()\n}\nx[0] = s[0]", false},
	{"a loop that does not run", itsShared + "s[me] = x[me]\nfor h := 0; h > 0; h /= 2 {\n\tt.Barrier()\n}\nx[0] = s[0]", false},
	{"one dimension twice", "s := grid.Shared[[4][4]int32](t)\ns[t.Local(0)][t.Local(0)] = 1\nt.Barrier()\nx[0] = s[3][1]", false},
	{"a row", "s := grid.Shared[[4][2]int32](t)\ns[t.Local(0)] = [2]int32{1, 2}\nt.Barrier()\nx[0] = s[3][1]", false},
	{"a place that changes", "s := grid.Shared[[8]int32](t)\nme := t.Local(0)\nme++\ns[me] = 1\nt.Barrier()\nx[1] = s[0]", false},
	{"of the grid", "s := grid.Shared[[8]int32](t)\ns[t.Global(0)] = 1\nt.Barrier()\nx[1] = s[0]", false},
	{"passed on", itsShared + "help(s)\ns[me] = 1\nt.Barrier()\nx[1] = s[0]", false},
}

// sharedText returns a package with one of the kernels.
func sharedText(body string) string {
	return "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nfunc help(s *[8]int32) { s[0]++ }\n\n//halyard:kernel\nfunc k(t grid.Thread, x []int32) {\n" + body + "\n}\n"
}

// Shared memory that is written before any thread can read it is not cleared, and needs no barrier.
func TestSharedMemoryThatIsFilledFirst(t *testing.T) {
	for _, k := range sharedKernels {
		made, err := translated(t, sharedText(k.body))
		require.NoError(t, err, k.name)
		_, text, ok := strings.Cut(made.C, "v_me = ")
		require.True(t, ok, k.name)
		text, _, ok = strings.Cut(text, "\n\t}\n")
		require.True(t, ok, k.name)
		assert.Equal(t, !k.filled, strings.Contains(text, "BARRIER();"), "%s:\n%s", k.name, made.C)
		assert.Equal(t, k.filled, strings.Contains(text, ">= THREADS("), "%s:\n%s", k.name, made.C)
	}
}
