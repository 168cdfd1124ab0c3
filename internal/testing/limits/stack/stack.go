// Package stack has kernels in Go whose threads have large variables.
//
//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .
package stack

import "github.com/go-halyard/halyard/kernel/grid"

// large has 16 KiB of variables in each thread.
//
//halyard:kernel
func large(t grid.Thread, x []int32) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	var a [4096]int32
	for k := range int32(4096) {
		a[k] = k ^ int32(i)
	}
	s := x[i]
	for k := range int32(100) {
		s += a[(k*7919+int32(i)*31)&4095]
	}
	x[i] = s
}

// huge has 8 MiB of them.
//
//halyard:kernel
func huge(t grid.Thread, x []int32) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	var a [1 << 21]int32
	for k := range int32(1 << 21) {
		a[k] = k ^ int32(i)
	}
	x[i] = a[x[i]+7]
}
