package translate

import (
	"encoding/gob"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nestingKernel is a kernel whose body counts in o[i] how far the number in y[i] goes.
const nestingKernel = `
//halyard:kernel
func k0(t grid.Thread, a int64, p Par, x []uint32, f []float32, g []float32, y []uint64, o []int32, e []Elem) {
	i := t.Global(0)
	if i >= len(o) {
		return
	}
	y[i] += uint64(i + %d)
%s}
`

// nestedConditions is so many conditions, each in the one before.
func nestedConditions(depth int) string {
	var s strings.Builder
	for k := range depth {
		fmt.Fprintf(&s, "if int32(y[i]) > %d {\no[i]++\n", k)
	}
	for k := depth; k > 0; k-- {
		fmt.Fprintf(&s, "} else {\no[i] += %d\n}\n", 100*k)
	}
	return s.String()
}

// earlyReturns returns early from so many places: a compiler nests what follows each.
func earlyReturns(count int) string {
	var s strings.Builder
	for k := range count {
		fmt.Fprintf(&s, "if int32(y[i]) == %d {\no[i] += %d\nreturn\n}\no[i]++\n", k, 100*k)
	}
	return s.String()
}

// switchOf has a switch of so many values, which is flat.
func switchOf(values int) string {
	var s strings.Builder
	s.WriteString("switch int32(y[i]) {\n")
	for k := range values {
		fmt.Fprintf(&s, "case %d:\no[i] = %d\n", k, 7*k+1)
	}
	return s.String() + "default:\no[i] = -1\n}\n"
}

// conditionsInARow has so many conditions one after the other, which are flat; the loop is left within.
func conditionsInARow(count int) string {
	var s strings.Builder
	s.WriteString("for k := range int32(3) {\nif int32(y[i]) > 1000 {\nbreak\n")
	for k := range count - 1 {
		body := fmt.Sprint("o[i] += ", k+1)
		if k%7 == 3 {
			body = "break"
		}
		fmt.Fprintf(&s, "} else if int32(y[i])+k == %d {\n%s\n", k, body)
	}
	return s.String() + "}\no[i]++\n}\n"
}

// Conditions that are nested, and those that stand one after the other, are those of Go; or the kernel is refused with the line.
func TestNesting(t *testing.T) {
	t.Parallel()
	nested := func(depth int32) func(v int32) int32 {
		return func(v int32) int32 {
			if v >= depth {
				return depth
			}
			return max(v, 0) + 100*(max(v, 0)+1)
		}
	}
	line := uint64(1)                                                                                     // the seed of a grid
	for s := shaped(line); s.dims != 1 || s.block[0] > 32 || s.total()-s.beyond < 175; s = shaped(line) { // Rusticl 22.3 takes blocks of 32 threads
		line++
	}
	var kernels []text
	var which []int
	switched := func(v int32) int32 {
		if v < 0 || v >= 300 {
			return -1
		}
		return 7*v + 1
	}
	cases := []struct {
		name, body string
		first      int32 // the number of the first thread
		want       func(v int32) int32
		nests      int // as the translator counts, with what may be around; 0 if that is few
	}{
		{"70 nested", nestedConditions(70), -10, nested(70), 72},
		{"100 nested", nestedConditions(100), -10, nested(100), 102},
		{"100 early returns", earlyReturns(100), -10, func(v int32) int32 {
			if v < 0 || v >= 100 {
				return 100
			}
			return 101 * v
		}, 102},
		{"a switch of 300 values", switchOf(300), -10, switched, 0},
		{"its last values", switchOf(300), 150, switched, 0},
		{"120 conditions in a row", conditionsInARow(120), -10, func(v int32) (sum int32) {
			for k := range int32(3) {
				if n := v + k; 0 <= n && n < 119 {
					if n%7 == 3 {
						break
					}
					sum += n + 1
				}
				sum++
			}
			return sum
		}, 0},
	}
	for k, c := range cases {
		kernels, which = append(kernels, text{line, fmt.Sprintf(nestingKernel, c.first, c.body)}), append(which, k)
	}
	b := newBatch(t)
	b.compiler = plainly
	b.head = singleHead
	all, err := b.run(t.Context(), kernels, nil)
	require.NoError(t, err)
	src, made, err := b.translate(kernels, which)
	require.NoError(t, err)
	depths := map[string]int{}
	for _, found := range nests.FindAllStringSubmatch(string(made.Go), -1) {
		depths[found[1]], _ = strconv.Atoi(found[2])
	}
	file, err := os.Open(filepath.Join(b.dir, "plain.gob"))
	require.NoError(t, err)
	defer file.Close()
	var plain []struct{ Z []int32 }
	require.NoError(t, gob.NewDecoder(file).Decode(&plain))
	for k, c := range cases {
		assert.Equal(t, c.nests, depths[fmt.Sprintf("k_k%d", k)], c.name)
		for i, got := range plain[k].Z {
			v := c.first + int32(i)
			require.Equal(t, c.want(v), got, "%s: what Go gives for %d", c.name, v)
		}
		assert.Empty(t, all[k].plain+all[k].refused, c.name)
		for said := range strings.Lines(all[k].differs) {
			_, at, refused := strings.Cut(said, fmt.Sprintf("nests %d conditions (k.go:", c.nests))
			number, _, _ := strings.Cut(at, ")")
			n, _ := strconv.Atoi(number)
			if !refused || c.nests < 100 || n == 0 || !strings.Contains(strings.Split(src, "\n")[n-1], " 99 {") {
				t.Errorf("%s: %s", c.name, said)
				continue
			}
			t.Logf("%s: %s", c.name, said)
		}
	}
	for _, d := range b.devices {
		assert.Equal(t, len(cases), b.compared[d], d)
	}
	t.Log("ran on ", b.compared, "; time went to ", b.spent)
	requireDevices(t, b.devices)
}

// The variables of a function count for each call, with the size that they have there.
func TestPrivateBytes(t *testing.T) {
	t.Parallel()
	made, err := translated(t, `package p

import "github.com/go-halyard/halyard/kernel/grid"

func sum[T int32 | int64](n int) (s T) {
	var all [150]T
	for i := range all {
		all[(i+n)%150] += T(i)
	}
	return all[n]
}

//halyard:kernel
func k(t grid.Thread, y []int64) {
	var own [2]int64
	own[t.Local(0)%2] = 1
	y[t.Global(0)] = int64(sum[int32](3)) + sum[int64](4) + own[0]
}
`)
	require.NoError(t, err)
	assert.Contains(t, string(made.Go), fmt.Sprintf("Private: %d", 150*4+150*8+16))
}
