// Command python is a Go library for Python: tensor.py loads it, and NumPy works on the elements of its buffers where they
// are, by DLPack.
//
//	go build -buildmode=c-shared -o tensor.so ./examples/python
//	python3 examples/python/tensor.py ./tensor.so
//
// It needs a C compiler to build, and NumPy 1.23 or later; NumPy 2.1 and later may also write.
package main

import "fmt"

// main must be there to build a library, which does not call it.
func main() {
	fmt.Println("this is a library: go build -buildmode=c-shared -o tensor.so ./examples/python")
}
