package main

import (
	"log"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// smooth writes the next values to dst. Each is the mean of an element of src and its two neighbours, from src[from] on; the first and
// the last of src, where one is wanted, stay as they are.
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
// and writes out, and returns at once. The work is a Go function between two copies. A gate holds the stream shut
// behind the first copy until the function has come to its end.
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
				log.Fatal(err) // nobody else could open it
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
