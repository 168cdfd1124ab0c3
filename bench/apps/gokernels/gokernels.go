// Package gokernels has the kernels of the programs of bench/apps, written in Go.
package gokernels

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

const block = 64 // threads of a block whose threads work together
