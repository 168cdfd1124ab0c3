// Command shared is a Go library for Python, built with -buildmode=c-shared: the script in ../testdata drives it to
// exchange tensors between Halyard's buffers and NumPy.
package main
