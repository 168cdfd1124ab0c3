// Package dl calls functions of shared libraries that are found while the program runs, with and without cgo.
//
// A backend opens its vendor's library with [Open], describes the calls it needs as a struct of [Proc] fields and has [Library.Fill] look
// each symbol up once. A call then goes through a cached address:
//
//	var table struct {
//		GetPlatformIDs dl.Proc `sym:"clGetPlatformIDs"`
//		SVMAlloc       dl.Proc `sym:"clSVMAlloc,optional"`
//	}
//	missing, err := lib.Fill(&table)
//	...
//	status := int32(table.GetPlatformIDs.Call3(0, 0, uintptr(unsafe.Pointer(&n))))
//
// For an interface with many calls, the command protogen writes the struct and the calls from a list of C prototypes.
//
// # Pointers in arguments
//
// Arguments are integers. A pointer is converted in the argument list itself, uintptr(unsafe.Pointer(&x)), never before it. Each CallN is
// marked so that the compiler then moves x to the heap, where it keeps its address and stays alive until the call returns, even when a
// callback grows the goroutine's stack meanwhile. The price is one allocation for each local variable that is passed in this way; a hot
// path takes its out parameters from [GetWords] instead.
//
// If C uses memory after the call returns, the caller must keep that memory alive for
// as long as C uses it. The memory must not be on a stack: take its address with [Address].
//
// # Limits
//
// Arguments and results are integers and pointers: no floating point, and no structs by value, except through [Proc.ByValue]. If a result
// is narrower than a word, its upper bits are undefined and the caller truncates it, as in int32(p.Call1(x)). A thread-local error number
// is not reported.
//
// Libraries are never closed: vendor libraries start threads and register exit handlers, and unloading one crashes the program later.
package dl
