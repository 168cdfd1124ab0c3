package main

import (
	"log"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// smooth writes the next values of the elements from src[from] on to dst. Each is the mean of an element and its two neighbours; the first
// and the last element of src keep their values.
func smooth(dst, src []float32, from int) []float32 {
	for i := range dst {
		j := from + i
		if j == 0 || j == len(src)-1 {
			dst[i] = src[j]
		} else {
			dst[i] = (src[j-1] + src[j] + src[j+1]) / 3
		}
	}
	return dst
}

// launch stands in for the launch of a kernel, so that the program runs on devices that have none: it enqueues work that reads in
// and writes out, and returns at once. The work is a Go function between two copies. After the first copy a gate holds
// the stream shut until the function has returned.
func launch(p part, in, out hal.Region, from int) error {
	s := p.stream
	src, dst := make([]float32, in.Len/4), make([]float32, out.Len/4)
	if err := s.CopyOut(bytesOf(src), in); err != nil {
		return err
	}
	gates := make(chan *hal.Gate, 1)
	p.running.Add(1)
	err := s.OnDone(func() {
		defer p.running.Done()
		smooth(dst, src, from)
		if gate, ok := <-gates; ok {
			if err := gate.Signal(); err != nil {
				log.Fatal(err) // the stream would stay shut
			}
		}
	})
	if err != nil {
		p.running.Done()
		return err
	}
	gate, err := s.Gate()
	if err != nil {
		close(gates)
		return err
	}
	gates <- gate
	return s.CopyIn(out, bytesOf(dst))
}

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}
