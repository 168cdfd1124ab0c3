// Package cgobench calls C through cgo, for benchmarks that put package dl beside
// it. It is empty when cgo is off, and no program imports it.
package cgobench
