// Package cgobench calls C through cgo, for benchmarks that compare package dl with
// cgo. It is empty when cgo is off, and no program imports it.
package cgobench
