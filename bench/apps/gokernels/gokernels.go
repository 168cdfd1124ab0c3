// Package gokernels has the kernels in Go of the programs of bench/apps that no example has.
package gokernels

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

const block = 64 // threads of a block whose threads work together
