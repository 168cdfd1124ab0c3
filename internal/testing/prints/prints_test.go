package prints

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// warnings are lines of Mesa's Rusticl.
var warnings = regexp.MustCompile(`(?m)^MESA: .*\n`)

// run launches the kernels on every device. Before the lines of a launch it prints the device.
func run(t *testing.T) {
	block := &kernel.Block{Size: [3]uint32{4, 1, 1}, Grid: [3]uint32{1, 1, 1}}
	for t := range grid.Threads(block) {
		halve(t, []int32{2, 3, 4, 6}, make([]int32, 4)) // it is no launch, and prints at once
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x, y, z := halyard.From(q, []int32{1, 2, 3, 4, 5, 6, 7}), halyard.New[int32](q, 7), halyard.From(q, []float32{1, 2, 3, 4, 5, 6, 7, 8.5})
		println("= halve " + q.Device().Name())
		Halve(q.Grid(hal.Blocks(2).Of(4)), x, y)
		println("= turn " + q.Device().Name())
		Turn(q.Grid(hal.Blocks(2).Of(4)), z)
		println("= many " + q.Device().Name())
		Many(q.Grid(hal.Over(1003).Of(8)), halyard.New[int32](q, 1003))
		println("= step " + q.Device().Name())
		step := q.Record(func(q *halyard.Queue) { Halve(q.Grid(hal.Blocks(2).Of(4)), x, y) })
		step.Run()
		step.Close()
		println("= end " + q.Device().Name())
		if err := q.Err(); errors.Is(err, hal.ErrUnsupported) {
			if strings.HasPrefix(q.Device().Name(), "vulkan") {
				assert.ErrorContains(t, err, "grid.Println prints nothing on Vulkan")
			}
			t.Skip(err)
		}
		require.NoError(t, q.Err())
		assert.Equal(t, []int32{0, 1, 1, 2, 2, 3, 3}, y.Values())
		assert.Equal(t, []float32{4, 3, 2, 1, 8.5, 7, 6, 5}, z.Values())
		println("= ran " + q.Device().Name())
	})
}

const halved = `kernels.go:17: block 0,0,0 thread 0,0,0: odd: 1 -5 1 0.5 false
kernels.go:17: block 0,0,0 thread 2,0,0: odd: 3 2000000009 3 1.5 false
kernels.go:17: block 1,0,0 thread 0,0,0: odd: 5 4000000023 5 2.5 true
kernels.go:17: block 1,0,0 thread 2,0,0: odd: 7 6000000037 7 3.5 true
`

const turned = `kernels.go:31: block 0,0,0 thread 0,0,0: 0 has 4
kernels.go:31: block 0,0,0 thread 1,0,0: 1 has 3
kernels.go:31: block 0,0,0 thread 2,0,0: 2 has 2
kernels.go:31: block 0,0,0 thread 3,0,0: 3 has 1
kernels.go:31: block 1,0,0 thread 0,0,0: 0 has 8.5
kernels.go:31: block 1,0,0 thread 1,0,0: 1 has 7
kernels.go:31: block 1,0,0 thread 2,0,0: 2 has 6
kernels.go:31: block 1,0,0 thread 3,0,0: 3 has 5
`

// With HALYARD_DEBUG=print every device prints the same lines, in the order of the threads. Without it the kernels do the same and print nothing.
func TestLines(t *testing.T) {
	if os.Getenv("PRINTS_AGAIN") != "" {
		run(t)
		return
	}
	for _, mode := range []string{"", "print"} {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLines$")
		again.Env = append(os.Environ(), "PRINTS_AGAIN=1", "HALYARD_DEBUG="+mode, "HALYARD_CHECK=") // some checks run a kernel several times
		var lines strings.Builder
		again.Stderr = &lines
		out, err := again.Output()
		require.NoError(t, err, string(out)+lines.String())
		first, _, _ := strings.Cut(lines.String(), "=")
		if mode == "" {
			assert.Empty(t, first)
		} else {
			assert.Equal(t, "kernels.go:17: block 0,0,0 thread 1,0,0: odd: 3 1000000002 3 1.5 false\n", first)
		}
		devices := 0
		for part := range strings.SplitSeq(warnings.ReplaceAllString(lines.String(), ""), "= halve ") {
			name, rest, _ := strings.Cut(part, "\n")
			if !strings.Contains(rest, "= ran "+name+"\n") {
				continue
			}
			devices++
			first, rest, _ := strings.Cut(rest, "= turn "+name+"\n")
			second, rest, _ := strings.Cut(rest, "= many "+name+"\n")
			third, rest, _ := strings.Cut(rest, "= step "+name+"\n")
			fourth, _, _ := strings.Cut(rest, "= end "+name+"\n")
			if mode == "" {
				assert.Empty(t, first+second+third+fourth, name)
				continue
			}
			assert.Equal(t, halved, first, name)
			assert.Equal(t, turned, second, name)
			assert.Equal(t, halved, fourth, name)
			assert.Equal(t, 1000, strings.Count(third, ": line\n"), name)
			assert.True(t, strings.HasSuffix(third, "3 more lines of the launch are not kept\n"), name)
		}
		assert.GreaterOrEqual(t, devices, 2, lines.String())
	}
}
