package translate

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const wrongByOne = `package main

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func write(t grid.Thread, x, y []int32) {
	y[t.Global(0)+1] = x[0]
}

//halyard:kernel
func read(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = x[t.Global(0)+1]
}

func get(x []int32, i int8) int32 {
	return x[i]
}

//halyard:kernel
func helper(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = get(x, int8(t.Global(0)-1))
}

//halyard:kernel
func shared(t grid.Thread, x, y []int32) {
	s := grid.Shared[[8]int32](t)
	s[t.Local(0)] = x[t.Global(0)]
	t.Barrier()
	y[t.Global(0)] = s[uint64(t.Local(0)+1)]
}

//halyard:kernel
func update(t grid.Thread, x, y []int32) {
	y[t.Global(0)+1] += x[t.Global(0)]
}

//halyard:kernel
func right(t grid.Thread, x, y []int32) {
	if i := t.Global(0); i+1 < len(y) {
		y[i+1] = x[i]
	}
}

//halyard:kernel
func none(t grid.Thread, x, y []int32) {
}

func sum(x []int32) (s int32) {
	for i := range 5 {
		s += x[i]
	}
	return s
}

//halyard:kernel
func part(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = sum(x[2:][:4])
}

//halyard:kernel
func bound(t grid.Thread, x, y []int32) {
	i := t.Global(0)
	row := x[i : i+2]
	y[i] = row[1]
}

//halyard:kernel
func order(t grid.Thread, x, y []int32) {
	var own [3]int32
	i := t.Global(0) / 4
	clear(own[2*i : 1])
	y[i] = own[0]
}

//halyard:kernel
func divide(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = 8 / (x[t.Global(0)] - 4)
}

func remainder(v uint64, by int) uint64 {
	v %= uint64(by)
	return v
}

//halyard:kernel
func rest(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = int32(remainder(9, t.Global(0)-2))
}

//halyard:kernel
func shift(t grid.Thread, x, y []int32) {
	y[t.Global(0)] <<= int8(x[t.Global(0)]) - 2
}

//halyard:kernel
func count(t grid.Thread, x, y []int32) {
	y[t.Global(0)] = 8 >> (t.Global(0) - 1)
}

//halyard:kernel
func guarded(t grid.Thread, x, y []int32) {
	i := t.Global(0)
	n := x[i] - 4
	if n >= 0 && 1<<n > 2 || n != 0 && 8/n > 1 || n > 100 && int64(n)%int64(n-n) > 0 {
		y[i] = n / -1 % 3 << 1
	}
	switch {
	case n > 9, n >= 0 && 1<<n > 7:
		y[i] = 5
	}
}
`

const wrongRunner = `package main

import (
	"context"
	"errors"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func main() {
	ctx := context.Background()
	for _, info := range must(hal.Devices(ctx)) {
		if info.Backend == "host" || info.Backend == "hip" {
			continue
		}
		dev := must(hal.Open(ctx, info.Name()))
		s := must(dev.NewStream())
		if k, err := rightKernel.Of(ctx, dev); err == nil {
			fmt.Print("PARAMS ", k.Info().Name, ":")
			for _, p := range k.Info().Params {
				fmt.Print(" ", p.Name)
			}
			fmt.Println()
		}
		for name, launch := range map[string]func(context.Context, kernel.Target, hal.Grid, kernel.Vector[int32], kernel.Vector[int32]) error{
			"write": WriteOn, "read": ReadOn, "helper": HelperOn, "shared": SharedOn, "update": UpdateOn, "right": RightOn, "none": NoneOn, "part": PartOn, "bound": BoundOn, "order": OrderOn,
			"divide": DivideOn, "rest": RestOn, "shift": ShiftOn, "count": CountOn, "guarded": GuardedOn} {
			x, all := must(buffer.From([]int32{1, 2, 3, 4, 5, 6, 7, 8})), must(buffer.New[int32](64))
			must(0, all.Fill(ctx, 77))
			y := must(all.Slice(16, 24))
			err := launch(ctx, s, hal.Over(8).Of(8), x, y)
			if errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrUnsupported) {
				fmt.Println("left out", info.Name(), err)
				break
			}
			fmt.Printf("%s %s: %v %v\n", info.Name(), name, errors.Is(err, hal.ErrOutOfRange), err)
			if read := y.CopyOut(ctx, make([]int32, 8)); (read != nil) != (err != nil) {
				fmt.Printf("FAILED %s %s: reading what it wrote gives %v\n", info.Name(), name, read)
			}
			for _, outside := range []*buffer.Buffer[int32]{must(all.Slice(0, 16)), must(all.Slice(24, 64))} {
				got := make([]int32, outside.Len())
				must(0, outside.CopyOut(ctx, got))
				for i, v := range got {
					if v != 77 {
						fmt.Printf("FAILED %s %s: element %d outside is %d\n", info.Name(), name, i, v)
					}
				}
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
`

// With HALYARD_CHECK=bounds an index out of range is an error that names it, and nothing outside is written. So are a division by zero and a negative shift.
func TestBounds(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"kernels.go": wrongByOne, "main.go": wrongRunner})
	packages, err := Load(t.Context(), dir, ".")
	require.NoError(t, err)
	made, err := packages[0].Translate()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(made.File, made.Go, 0o600))
	require.NoError(t, os.WriteFile(made.VulkanFile, made.Vulkan, 0o600))
	build := exec.Command("go", "build", "-mod=mod", "-gcflags", plainly, "-ldflags", "-s -w", "-tags", "opencl cuda vulkan", "-o", "kernels", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, mode := range []string{"bounds", "bounds,kernels"} {
		run := exec.Command("./kernels")
		run.Dir, run.Env = dir, append(os.Environ(), "HALYARD_KERNEL_CACHE=off", "HALYARD_CHECK="+mode)
		out, err = run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		text := string(out)
		assert.NotContains(t, text, "FAILED")
		t.Log(text)
		seen := strings.Count(text, " right: false")
		assert.Equal(t, seen, strings.Count(text, "PARAMS right: x len(x) y len(y) what the kernel reports\n"), "names of Go: %s", text)
		if !strings.Contains(text, "opencl:") && strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
			t.Errorf("HALYARD_REQUIRE asks for OpenCL, and the kernels ran on no such device:\n%s", text)
		}
		if seen == 0 {
			t.Skip("no device runs translated kernels")
		}
		for name, want := range map[string]string{
			"write": "kernel write: kernels.go:7: index 8 out of range with length 8", "read": "kernel read: kernels.go:12: index 8 out of range with length 8",
			"helper": "kernel helper: kernels.go:16: index -1 out of range with length 8", "shared": "kernel shared: kernels.go:29: index 8 out of range with length 8",
			"update": "kernel update: kernels.go:34: index 8 out of range with length 8",
			"part":   "kernel part: kernels.go:50: index 4 out of range with length 4", "bound": "kernel bound: kernels.go:63: bound 9 of a slice out of range with 8",
			"order":  "kernel order: kernels.go:71: bound 2 of a slice out of range with 1",
			"divide": "the program's code failed: kernel divide: kernels.go:77: integer divide by zero",
			"rest":   "the program's code failed: kernel rest: kernels.go:81: integer divide by zero",
			"shift":  "the program's code failed: kernel shift: kernels.go:92: negative shift amount -1",
			"count":  "the program's code failed: kernel count: kernels.go:97: negative shift amount -1",
		} {
			kind := fmt.Sprint(!strings.Contains(want, "code failed"))
			found := 0
			for line := range strings.Lines(text) {
				if strings.Contains(line, " "+name+": "+kind+" ") && strings.HasSuffix(strings.TrimSpace(line), want) {
					found++
				}
			}
			assert.Equal(t, seen, found, "%s on each device:\n%s", name, text)
		}
		for _, name := range []string{"right", "none", "guarded"} {
			assert.Equal(t, seen, strings.Count(text, fmt.Sprintf(" %s: false <nil>\n", name)), text)
		}
	}
}
