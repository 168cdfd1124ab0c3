package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// In checking mode a part that uses elements outside of its footprint is an error, which names the line and the element, and changes nothing.
func TestFootprintsAreCheckedWhenTheyAreUsed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pages are protected on Linux only")
	}
	_, streams := devices(t, 2)
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	const n = 480 // x and y have more elements, on the same pages
	all := buffer.Range{Hi: 3 * n}
	for name, c := range map[string]struct {
		f     func(x, y []float32, i int)
		touch func(lo, hi int) [2]gridgen.Touch // for the threads of a part
		says  string
	}{
		"right": {
			func(x, y []float32, i int) { y[n+i] = x[n+i-1] + x[n+i+1] },
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{Read: buffer.Range{Lo: n + lo - 1, Hi: n + hi + 1}}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}, Whole: true}}
			}, "",
		},
		"reads above": {
			func(x, y []float32, i int) { y[n+i] = x[n+i] + x[n+i+1] },
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{Read: buffer.Range{Lo: n + lo, Hi: n + hi}}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}, Whole: true}}
			}, "it uses element 720 of x, and its footprint says that it reads elements 480 to 719 and writes no elements",
		},
		"reads below": {
			func(x, y []float32, i int) { y[n+i] = x[n+i] + x[n+i-1] },
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{Read: buffer.Range{Lo: n + lo, Hi: n + hi}}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}, Whole: true}}
			}, "it uses element 479 of x",
		},
		"writes above": {
			func(x, y []float32, i int) { y[n+i] = x[n+i]; y[n+i+1] = 3 },
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{Read: all}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}}}
			}, "it uses element 720 of y, and its footprint says that it reads no elements and writes elements 480 to 719",
		},
		"writes what it reads": {
			func(x, y []float32, i int) {
				if y[n+i] = x[n+i]; i == n-1 {
					y[2*n]++
				}
			},
			func(lo, hi int) [2]gridgen.Touch {
				w := buffer.Range{Lo: n + lo, Hi: n + hi}
				return [2]gridgen.Touch{{Read: all}, {Read: buffer.Range{Lo: w.Lo, Hi: w.Hi + hi/n}, Write: w}} // another part may not write what it reads
			}, "it uses element 960 of y, and its footprint says that it reads elements 720 to 960 and writes elements 720 to 959",
		},
		"leaves elements": {
			func(x, y []float32, i int) {
				if i != 300 {
					y[n+i] = 1
				}
			},
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}, Whole: true}}
			}, "it leaves element 780 of y, and its footprint says that it writes all of elements 720 to 959",
		},
		"reads what it writes whole": {
			func(x, y []float32, i int) {
				if y[n+i] < float32(2*n) { // as NaN is not
					y[n+i] = 1
				} else {
					y[n+i] = 2
				}
			},
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}, Whole: true}}
			}, "element 480 of y depends on what elements held that its footprint says are written whole, and not read",
		},
		"fails by itself": {
			func(x, y []float32, i int) { y[n+i] = x[5*n] },
			func(lo, hi int) [2]gridgen.Touch {
				return [2]gridgen.Touch{{Read: all}, {Write: buffer.Range{Lo: n + lo, Hi: n + hi}, Whole: true}}
			}, "index out of range [2400] with length 1440 (outside_test.go:",
		},
	} {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprint(name, together), func(t *testing.T) {
				p := kernel.New(kernel.Source{Name: "wrong", Go: kernel.Functions{"f": kernel.Go(func(b *kernel.Block) {
					x, y := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 2)
					if together {
						grid.RunTogether(b, func(t grid.Thread) { c.f(x, y, t.Global(0)) })
						return
					}
					for t := range grid.Threads(b) {
						c.f(x, y, t.Global(0))
					}
				})}, Source: gridgen.Source{Kernels: map[string]gridgen.Written{"f": {Params: []string{"x", "len(x)", "y", "len(y)"}, Footprint: gridgen.Footprint{Cut: [3]bool{true},
					Of: func(box gridgen.Box, _ []int64, touch []gridgen.Touch) {
						both := c.touch(box.Lo[0], box.Hi[0])
						copy(touch, both[:])
					}}}}}})
				defer func() { assert.NoError(t, p.Close()) }()
				split := newSplit(t, streams[1:]...)
				x, y := made(t, ramp(3*n)...), made(t, ramp(3*n)...)
				err := p.Kernel("f").Launch(ctx, split, hal.Over(n).Of(16), kernel.In(x), kernel.Value(int64(3*n)), kernel.InOut(y), kernel.Value(int64(3*n)))
				switch name {
				case "right":
					require.NoError(t, err)
				case "fails by itself":
					require.ErrorIs(t, err, hal.ErrKernel)
					require.ErrorContains(t, err, c.says)
					return
				default:
					require.ErrorIs(t, err, hal.ErrOutOfRange)
					require.ErrorContains(t, err, "kernel f: ")
					require.ErrorContains(t, err, c.says)
					if name != "leaves elements" && name != "reads what it writes whole" {
						require.ErrorContains(t, err, "outside_test.go:")
					}
					require.Equal(t, ramp(3*n), contents(t, y))
				}
			})
		}
	}
}

// A launch whose arguments are wrong fails in checking mode as it does without.
func TestWrongArgumentsOfACheckedLaunch(t *testing.T) {
	const n = 480
	_, streams := devices(t, 2)
	split := newSplit(t, streams[1:]...)
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	x, y := made(t, ramp(n)...), made(t, ramp(n)...)
	launch := func(args ...kernel.Arg) error {
		return divided.Kernel("saxpy").Launch(ctx, split, hal.Over(2*n).Of(16), args...)
	}
	a, length := kernel.Value(float32(1)), kernel.Value(int64(n))
	require.NoError(t, launch(a, kernel.In(x), length, kernel.InOut(y), kernel.Value(int64(2*n))), "the host does not need the length")
	err := launch(kernel.Arg{}, kernel.In(x), length, kernel.InOut(y), length)
	require.ErrorContains(t, err, "argument 0 is the zero Arg")
	require.ErrorContains(t, err, streams[1].Device().Name())
}

// What the command has found out about the kernels of the tests is right.
func TestProgramsKeepTheirFootprints(t *testing.T) {
	_, streams := devices(t, 3)
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	rng := rand.New(rand.NewPCG(8, 9))
	const n = 64
	q := queue{t: t, on: newSplit(t, streams[1:]...)}
	a, b, c := made(t, numbers(rng, n*n)...), made(t, numbers(rng, n*n)...), made(t, make([]float32, n*n)...)
	square := q.of(hal.Over(n, n).Of(8, 8))
	divided.Product(square, n, a, b, c)
	divided.Spread(square, n, n, a, c)
	divided.Blur(square, kernel.InRows(a, n), kernel.InRows(c, n))
	line := q.of(hal.Over(n * n).Of(32))
	divided.Saxpy(line, 2, a, c)
	divided.Laplace(line, a, c)
	bodies, moved := made(t, make([]divided.Body, 300)...), made(t, make([]divided.Body, 300)...)
	divided.Pull(q.of(hal.Over(300).Of(32)), 0.1, bodies, moved)
	divided.Mandelbrot(q.of(hal.Over(100, 80).Of(16, 4)), kernel.InRows(made(t, make([]int32, 100*80)...), 100))
	divided.Dot(q.of(hal.Over(n*n/16).Of(4)), a, b, made(t, make([]float32, n*n/16)...))
}
