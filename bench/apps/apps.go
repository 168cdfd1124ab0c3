package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// app is a program that all variants write.
type app struct {
	Name, Title, What string
	N, Steps, Repeats int
	Cases             []string
	Several, Ranks    bool // it runs on two devices, and in several ranks
	input             func(n int) []byte
	// reference computes the result in plain Go, and returns what compares another result with it and says how far off that is.
	reference func(a *app) func(result []byte) (float64, error)
}

var apps = []app{
	{Name: "stream", Title: "BabelStream", What: "five kernels and dot on arrays of 2²² doubles, each waited for", N: 1 << 22, Steps: 6, Repeats: 1,
		Cases: []string{"copy", "mul", "add", "triad", "nstream", "dot"}, input: noInput, reference: streamReference},
	{Name: "mandelbrot", Title: "Mandelbrot", What: "1024×1024 points, up to 256 steps, and the picture on the host", N: 1024, Steps: 256, Repeats: 3,
		Cases: []string{"run"}, Several: true, input: noInput, reference: mandelbrotReference},
}

func noInput(int) []byte { return nil }

// decode returns a result of so many elements, no more and no fewer.
func decode[T any](result []byte, count int) ([]T, error) {
	out := make([]T, count)
	if len(result) != binary.Size(out) {
		return nil, fmt.Errorf("the result has %d bytes, and should have %d", len(result), binary.Size(out))
	}
	return out, binary.Read(bytes.NewReader(result), binary.NativeEndian, out)
}

func streamReference(a *app) func([]byte) (float64, error) {
	x, y, z, dot := 0.1, 0.2, 0.0, 0.0
	for range a.Steps {
		z = x
		y = 0.4 * z
		z = x + y
		x = y + float64(0.4*z)
		x += y + float64(0.4*z)
		dot = float64(a.N) * float64(x*y)
	}
	return func(result []byte) (float64, error) {
		got, err := decode[float64](result, 3*a.N+1)
		if err != nil {
			return 0, err
		}
		off := 0.0
		for i, want := range []float64{x, y, z} {
			for _, v := range got[i*a.N : (i+1)*a.N] {
				off = max(off, math.Abs(v/want-1))
			}
		}
		return within(max(off, math.Abs(got[3*a.N]/dot-1)), 1e-8)
	}
}

func mandelbrotReference(a *app) func([]byte) (float64, error) {
	want := make([]uint16, a.N*a.N)
	step := 2.4 / float32(a.N)
	for i := range want {
		cx, cy := -1.7+float32(step*float32(i%a.N)), -1.2+float32(step*float32(i/a.N))
		var x, y float32
		for int(want[i]) < a.Steps && float32(x*x)+float32(y*y) <= 4 {
			x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
			want[i]++
		}
	}
	return func(result []byte) (float64, error) {
		got, err := decode[uint16](result, len(want))
		if err != nil {
			return 0, err
		}
		for i := range want {
			if got[i] != want[i] {
				return 1, fmt.Errorf("point %d takes %d steps, and should take %d", i, got[i], want[i])
			}
		}
		return 0, nil
	}
}

// within refuses a result that is off by more than the limit, or not a number.
func within(off, limit float64) (float64, error) {
	if !(off <= limit) {
		return off, fmt.Errorf("the result is off by %.2g, and may be by %.2g", off, limit)
	}
	return off, nil
}
