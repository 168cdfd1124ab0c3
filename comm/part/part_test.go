package part_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/npy"
)

// must returns the first error of several, with its number.
func must(errs ...error) error {
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func TestHaloCleanMovesNothing(t *testing.T) {
	run(t, 4, func(ctx context.Context, c *comm.Comm) error {
		b, err := part.New[float64](ctx, c, part.Block(400), part.Halo{Lo: []int{10}, Hi: []int{10}, Periodic: []bool{true}})
		if err != nil {
			return err
		}
		exchange := func(what string, bytes uint64) error {
			moved, err := b.Exchange(ctx)
			if err == nil && moved != (part.Moved{Bytes: bytes, Messages: 2}) {
				err = fmt.Errorf("%s: %+v was sent in place of %d bytes", what, moved, bytes)
			}
			return err
		}
		at := func(lo, hi int, v float64) error {
			s, err := b.Owned().Slice(lo, hi)
			if err != nil {
				return err
			}
			return s.Fill(ctx, v)
		}
		return must(
			exchange("the first", 160),
			exchange("clean", 0),
			at(10, 90, 1), // nobody has ghosts of these
			exchange("written inside", 0),
			at(3, 5, 2),
			exchange("two elements", 16),
			at(8, 92, 3), // two at each end
			exchange("both ends", 32),
			exchange("clean again", 0),
			at(0, 1, 4),
			at(0, 1, 5), // the same
			at(9, 10, 5),
			exchange("two of an end", 16),
			b.Local().View(ctx, func(s []float64) error {
				want := []float64{10: 5, 13: 2, 14: 2, 18: 3, 19: 5}
				for i, v := range want {
					if i >= 10 && s[i] != v || i >= 10 && s[i+100] != v {
						return fmt.Errorf("element %d is %v, and %v as a ghost, not %v", i, s[i], s[i+100], v)
					}
				}
				return nil
			}),
			b.Close())
	})
}

func TestStaleGhostsAreNotRead(t *testing.T) {
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		b, err := part.New[int32](ctx, c, part.Block(10), part.Width(2))
		if err != nil {
			return err
		}
		ghosts := buffer.Range{Lo: 5, Hi: 7}
		if c.Rank() == 1 {
			ghosts = buffer.Range{Lo: 0, Hi: 2}
		}
		g, err := b.Local().Slice(ghosts.Lo, ghosts.Hi)
		if err != nil {
			return err
		}
		refused := func() error {
			_, err := g.At(ctx, 1)
			var e *part.StaleError
			if !errors.As(err, &e) || len(e.Global) != 1 || e.Global[0] != (buffer.Range{Lo: 6 - 2*c.Rank(), Hi: 7 - 2*c.Rank()}) {
				return fmt.Errorf("reading a stale ghost: %w", err)
			}
			lease, err := g.AcquireHost(ctx, coherence.ReadWrite)
			if !errors.Is(err, part.ErrStale) {
				_ = lease.Release()
				return fmt.Errorf("a lease on stale ghosts: %v", err)
			}
			if list := b.Stale(); len(list) != 1 || list[0] != ghosts {
				return fmt.Errorf("stale are %v, not %v", list, ghosts)
			}
			return b.Owned().View(ctx, func([]int32) error { return nil })
		}
		read := func(want int32) error {
			return b.Local().View(ctx, func(s []int32) error {
				for i := ghosts.Lo; i < ghosts.Hi; i++ {
					if s[i] != want {
						return fmt.Errorf("ghost %d is %d, not %d", i, s[i], want)
					}
				}
				return nil
			})
		}
		other := int32(1 - c.Rank())
		exchange := func() error { _, err := b.Exchange(ctx); return err }
		steps := must(
			refused(), exchange(), read(0),
			b.Owned().Fill(ctx, int32(c.Rank()+10)), refused(),
			b.Owned().Fill(ctx, int32(c.Rank()+20)), exchange(), read(other+20))
		if steps != nil {
			return steps
		}
		b.Expire()
		if err := must(refused(), exchange(), read(other+20)); err != nil {
			return err
		}
		// What was written to ghosts is read, and forgotten by the exchange. If no owner wrote, the next exchange brings the elements.
		if err := must(g.Fill(ctx, 77), read(77), b.Owned().Fill(ctx, int32(c.Rank()+20)), read(77), exchange(), read(other+20), g.Fill(ctx, 78)); err != nil {
			return err
		}
		x, err := b.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := b.Exchange(ctx); !errors.Is(err, hal.ErrInvalidArgument) {
			return fmt.Errorf("an exchange inside another: %v", err)
		}
		if err := must(read(78), b.Owned().Fill(ctx, int32(c.Rank()+30))); err != nil {
			return err
		}
		if _, err := x.End(ctx); err != nil {
			return err
		}
		if _, err := x.End(ctx); !errors.Is(err, hal.ErrInvalidArgument) {
			return fmt.Errorf("the second end: %v", err)
		}
		if err := must(refused(), exchange(), read(other+30)); err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
		if _, err := b.Exchange(ctx); !errors.Is(err, hal.ErrClosed) {
			return fmt.Errorf("an exchange after Close: %v", err)
		}
		return nil
	})
}

func TestAccumulate(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			run(t, s.ranks, func(ctx context.Context, c *comm.Comm) error {
				h := s.halo(c.Rank())
				b, err := part.New[float64](ctx, c, s.layout, h)
				if err != nil {
					return err
				}
				m := newModel(b, h)
				// Rank r contributes 100 + r to every second of its local elements, owned or not.
				sum := make([]float64, whole(b))
				if b.Local() != nil {
					err = b.Local().Update(ctx, func([]float64) error { return nil })
					if m.ghosts > 0 && !errors.Is(err, part.ErrStale) {
						return fmt.Errorf("stale ghosts were to be updated: %v", err)
					}
					for i, g := range m.index {
						if i%2 == 0 && m.owned[i] {
							if err := b.Local().Set(ctx, i, float64(100+c.Rank())); err != nil {
								return err
							}
							sum[g] += float64(100 + c.Rank())
						}
					}
				}
				if _, err := b.Exchange(ctx); err != nil {
					return err
				}
				if b.Local() != nil {
					for i, g := range m.index {
						if i%2 == 0 && !m.owned[i] {
							if err := b.Local().Set(ctx, i, float64(100+c.Rank())); err != nil {
								return err
							}
							sum[g] += float64(100 + c.Rank())
						}
					}
				}
				if err := comm.AllreduceSlice(ctx, c, sum, comm.Sum); err != nil {
					return err
				}
				if _, err := b.Accumulate(ctx, comm.And); !errors.Is(err, hal.ErrInvalidArgument) {
					return fmt.Errorf("And of float64: %v", err)
				}
				if _, err := b.Accumulate(ctx, comm.Sum); err != nil {
					return err
				}
				copy(m.now, sum)
				copy(m.then, sum)
				if err := m.check(ctx); err != nil {
					return fmt.Errorf("after Accumulate: %w", err)
				}
				if moved, err := b.Accumulate(ctx, comm.Sum); err != nil || moved.Bytes != 0 {
					return fmt.Errorf("nothing was contributed: %+v, %v", moved, err)
				}
				if _, err := b.Exchange(ctx); err != nil {
					return err
				}
				m.stale = false
				return must(m.check(ctx), b.Close())
			})
		})
	}
}

type name int16

func TestAccumulateTakesEveryOperation(t *testing.T) {
	for op, want := range map[comm.Op]name{comm.Sum: 12, comm.Prod: 20, comm.Min: 2, comm.Max: 10, comm.And: 2, comm.Or: 10, comm.Xor: 8} {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			b, err := part.New[name](ctx, c, part.Block(2), part.Width(1))
			if err != nil {
				return err
			}
			if err := must(b.Owned().Fill(ctx, 10), b.Local().Set(ctx, 1-c.Rank(), 2)); err != nil {
				return err
			}
			if _, err := b.Accumulate(ctx, op); err != nil {
				return err
			}
			if v, err := b.Owned().At(ctx, 0); err != nil || v != want {
				return fmt.Errorf("%v: %v, %v", op, v, err)
			}
			return b.Close()
		})
	}
}

// fill makes each owned element its global index plus 1, and verify compares.
func fill(ctx context.Context, b *part.Buffer[float64], h part.Halo) error {
	return owned(ctx, b, h, coherence.Overwrite, func(v *float64, g int) error { *v = float64(g + 1); return nil })
}

func verify(ctx context.Context, b *part.Buffer[float64], h part.Halo) error {
	return owned(ctx, b, h, coherence.Read, func(v *float64, g int) error {
		if *v != float64(g+1) {
			return fmt.Errorf("global element %d is %v", g, *v)
		}
		return nil
	})
}

func owned(ctx context.Context, b *part.Buffer[float64], h part.Halo, mode coherence.Mode, fn func(*float64, int) error) error {
	index, _ := globals(b, h)
	ranges := b.OwnedRanges()
	if len(ranges) == 0 {
		return nil
	}
	return b.Local().AccessRanges(ctx, mode, ranges, func(s []float64) error {
		for _, r := range ranges {
			for i := r.Lo; i < r.Hi; i++ {
				if err := fn(&s[i-ranges[0].Lo], index[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func TestFileOnOtherNumbersOfRanks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "u.npy")
	for _, procs := range [][]int{{1, 1}, {2, 3}, {4, 1}, {1, 8}} {
		h := part.Width(1, 1)
		for i, other := range [][]int{procs, {1, 1}, {1, 2}, {3, 2}} {
			run(t, other[0]*other[1], func(ctx context.Context, c *comm.Comm) error {
				b, err := part.New[float64](ctx, c, part.Grid([]int{3, 7}, other), h)
				if err != nil {
					return err
				}
				if i == 0 {
					return must(fill(ctx, b, h), b.Save(ctx, path), b.Close())
				}
				if err := must(b.Load(ctx, path), verify(ctx, b, h)); err != nil {
					return err
				}
				if _, err := b.Exchange(ctx); err != nil {
					return err
				}
				return b.Close()
			})
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := bytes.NewReader(file)
		header, err := npy.ReadHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := npy.ReadData[float64](r, header)
		if err != nil || r.Len() > 0 || fmt.Sprint(header.Shape) != "[3 7]" || data[20] != 21 {
			t.Fatalf("the file has %v, %v, %v", header, data, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("files were left over: %v", list)
	}
}

func npyFile[T any](t *testing.T, shape []int, data []T) []byte {
	var file bytes.Buffer
	if _, err := npy.Write(&file, false, shape, data); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, file []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := npyFile(t, []int{8}, make([]float64, 8))
	for _, path := range []string{
		write("shape", npyFile(t, []int{9}, make([]float64, 9))),
		write("axes", npyFile(t, []int{8, 1}, make([]float64, 8))),
		write("type", npyFile(t, []int{8}, make([]float32, 8))),
		write("short", whole[:len(whole)-1]),
		write("text", []byte("hello")),
	} {
		run(t, 2, func(ctx context.Context, c *comm.Comm) error {
			b, err := part.New[float64](ctx, c, part.Block(8), part.Halo{})
			if err != nil {
				return err
			}
			if err := fill(ctx, b, part.Halo{}); err != nil {
				return err
			}
			err = b.Load(ctx, path)
			short := filepath.Base(path) == "short" && c.Rank() == 0
			if short && !errors.Is(err, comm.ErrMismatch) || !short && !errors.Is(err, hal.ErrInvalidArgument) {
				return fmt.Errorf("%s: %v", filepath.Base(path), err)
			}
			return must(verify(ctx, b, part.Halo{}), b.Close())
		})
	}
	run(t, 2, func(ctx context.Context, c *comm.Comm) error {
		b, err := part.New[float64](ctx, c, part.Block(8), part.Halo{})
		if err != nil {
			return err
		}
		if err := b.Load(ctx, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("no file: %v", err)
		}
		if err := b.Save(ctx, filepath.Join(dir, "no", "directory")); c.Rank() == 0 && !errors.Is(err, os.ErrNotExist) || c.Rank() == 1 && !errors.Is(err, comm.ErrMismatch) {
			return fmt.Errorf("no directory: %v", err)
		}
		return b.Close()
	})
}

func TestBadArgumentsAreRefused(t *testing.T) {
	w := part.Width(1)
	for name, f := range map[string]func(rank int) (part.Layout, part.Halo){
		"no layout":       func(int) (part.Layout, part.Halo) { return part.Layout{}, w },
		"no elements":     func(int) (part.Layout, part.Halo) { return part.Block(0), w },
		"too few starts":  func(int) (part.Layout, part.Halo) { return part.Starts(0, 4), w },
		"no starts":       func(int) (part.Layout, part.Halo) { return part.Starts(), w },
		"starts descend":  func(int) (part.Layout, part.Halo) { return part.Starts(0, 5, 4), w },
		"starts after 0":  func(int) (part.Layout, part.Halo) { return part.Starts(1, 5, 8), w },
		"wrong processes": func(int) (part.Layout, part.Halo) { return part.Grid([]int{4, 4}, []int{3, 1}), part.Width(1, 1) },
		"four dimensions": func(int) (part.Layout, part.Halo) {
			return part.Grid([]int{4, 4, 4, 4}, []int{2, 1, 1, 1}), part.Halo{}
		},
		"negative width":   func(int) (part.Layout, part.Halo) { return part.Block(4), part.Width(-1) },
		"width of another": func(int) (part.Layout, part.Halo) { return part.Block(4), part.Width(1, 1) },
		"too wide": func(int) (part.Layout, part.Halo) {
			return part.Block(4), part.Halo{Lo: []int{5}, Periodic: []bool{true}}
		},
		"need beyond": func(int) (part.Layout, part.Halo) {
			return part.Block(4), part.Halo{Needs: []buffer.Range{{Lo: 3, Hi: 5}}}
		},
		"overlapping needs": func(int) (part.Layout, part.Halo) {
			return part.Starts(0, 0, 4), part.Halo{Needs: []buffer.Range{{Lo: 1, Hi: 3}, {Lo: 0, Hi: 2}}}
		},
		"both": func(int) (part.Layout, part.Halo) {
			return part.Block(4), part.Halo{Lo: []int{1}, Needs: []buffer.Range{{Lo: 3, Hi: 4}}}
		},
		"different": func(rank int) (part.Layout, part.Halo) { return part.Block(4 + rank), w },
		"one is bad": func(rank int) (part.Layout, part.Halo) {
			return part.Block(4), part.Halo{Needs: []buffer.Range{{Lo: 3, Hi: 4}}} // rank 1 owns it
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, 2, func(ctx context.Context, c *comm.Comm) error {
				l, h := f(c.Rank())
				b, err := part.New[float64](ctx, c, l, h)
				if b != nil || !errors.Is(err, hal.ErrInvalidArgument) && !errors.Is(err, comm.ErrMismatch) {
					return fmt.Errorf("%v, %v", b, err)
				}
				return c.Barrier(ctx) // it goes on
			})
		})
	}
}
