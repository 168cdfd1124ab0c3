// Package gokernels has the kernels in Go that heat and cg use in several ranks, and no example has.
package gokernels

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .
