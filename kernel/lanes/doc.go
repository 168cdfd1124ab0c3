// Package lanes has the functions that the files PACKAGE_kernels_simd.go call. "halyard kernels" writes these files: vector code for
// kernels on the host. Package lanes is on top of package simd, which Go 1.27 has with GOEXPERIMENT=simd; in other builds this package is
// empty, and nothing imports it.
//
// A lane is one element of a vector. In a generated file it stands for one thread of a row: lane 0 for the thread at some place of the
// grid, and lane n for the thread n places further. A mask says which lanes an operation is for. Each function gives in each lane the bits
// that Go's scalar operation gives, apart from the sign and the payload of a NaN, which Go does not define.
//
// The files lanes_gen.go, amd64_gen.go and others_gen.go have the functions that differ in a type only. They are written from the templates
// in internal/template.
package lanes

//go:generate go run ./internal/template
