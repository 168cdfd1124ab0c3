package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// program is one of the programs with its data.
type program struct {
	name, size, c string   // c is the function in C
	kernels       []string // their names
	ints          []int    // what the function in C gets, before the addresses of the data
	data          []data
	inC           []data // what the function in C gets, if it is not data
	ours, hand    func(ctx context.Context, s *hal.Stream) error
	err           error
}

//go:embed programs.cl
var text string

// kernelsByHand are the kernels by hand. The option makes them round quotients as Go does.
var kernelsByHand = kernel.New(kernel.Source{Name: "by hand", OpenCL: text,
	Options: map[hal.Language][]string{hal.LanguageOpenCLC: {"-cl-fp32-correctly-rounded-divide-sqrt"}}})

//go:embed main_kernels_simd.go
var vectorCode string

// vectors says for how many of the program's kernels there is vector code that runs on the host.
func (p *program) vectors(device string) string {
	if device != host || !asVectors {
		return "-"
	}
	n := 0
	for _, k := range p.kernels {
		if strings.Contains(vectorCode, "\t"+k+"Vectors = ") || strings.Contains(vectorCode, "\t"+k+"Phase") {
			n++
		}
	}
	return fmt.Sprintf("%d of %d kernels", n, len(p.kernels))
}

// data is an array in the memory of each side.
type data interface {
	reset(ctx context.Context) error
	resetC()
	address() uintptr
	check(ctx context.Context, ofC bool) error
	close() error
}

type array[T comparable] struct {
	in, want, c []T // want is nil if nothing changes the array
	again       bool
	near        float64 // how much results may differ, in relation to each other
	*buffer.Buffer[T]
}

// read adds an array that is only read.
func read[T comparable](p *program, in []T) *array[T] { return add(p, &array[T]{in: in}) }

// written adds an array that is zero at first, and what is in it in the end.
func written[T comparable](p *program, want []T) *array[T] {
	return add(p, &array[T]{in: make([]T, len(want)), want: want})
}

// changed adds an array that is read and written, and what is in it in the end. With a nil that is not looked at.
func changed[T comparable](p *program, in, want []T) *array[T] {
	return add(p, &array[T]{in: in, want: want, again: true})
}

func add[T comparable](p *program, a *array[T]) *array[T] {
	a.c = slices.Clone(a.in)
	var err error
	if a.Buffer, err = buffer.From(a.in); err != nil && p.err == nil {
		p.err = err
	}
	p.data = append(p.data, a)
	return a
}

func (a *array[T]) reset(ctx context.Context) error {
	if !a.again {
		return nil
	}
	return a.CopyIn(ctx, a.in)
}

func (a *array[T]) resetC() {
	if a.again {
		copy(a.c, a.in)
	}
}

func (a *array[T]) address() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(a.c))) }

func (a *array[T]) close() error { return a.Close() }

// check says where an array differs from what plain Go computes.
func (a *array[T]) check(ctx context.Context, ofC bool) error {
	if a.want == nil {
		return nil
	}
	got := a.c
	if !ofC {
		got = make([]T, len(a.want))
		if err := a.CopyOut(ctx, got); err != nil {
			return err
		}
	}
	for i := range got {
		if got[i] != a.want[i] && !a.isNear(got[i], a.want[i]) {
			return fmt.Errorf("element %d is %v instead of %v", i, got[i], a.want[i])
		}
	}
	return nil
}

func (a *array[T]) isNear(x, y T) bool {
	p, ok := any(x).(particle)
	if !ok {
		return false
	}
	q := any(y).(particle)
	near := func(x, y float32) bool { return math.Abs(float64(x-y)) <= a.near*(1+math.Abs(float64(y))) }
	return near(p.x, q.x) && near(p.y, q.y) && near(p.z, q.z) && near(p.charge, q.charge)
}

func (p *program) check(ctx context.Context, list []data, ofC bool) error {
	for i, d := range list {
		if err := d.check(ctx, ofC); err != nil {
			return fmt.Errorf("array %d: %w", i, err)
		}
	}
	return nil
}
