package dl

// Proc is the address of a C function. The zero Proc is no function, and calling it panics.
//
// The Call methods, Call0 to Call12, pass integer and pointer arguments and return the integer result; if C's result is narrower than a word, the upper bits
// are undefined. They do not allocate, and they let other goroutines run while C blocks. They may be used from any goroutine; the call may
// run on any thread, unless the goroutine is locked to one. Read the package comment before you pass a pointer.
type Proc uintptr

// ProcAt returns the function at an address that a library handed out, such as the result of clGetExtensionFunctionAddressForPlatform.
func ProcAt(addr uintptr) Proc { return Proc(addr) }

// Valid reports whether there is a function to call.
func (p Proc) Valid() bool { return p != 0 }

// MaxArgs is the largest number of arguments of a call.
const MaxArgs = 12

//go:generate go run ../testing/protogen procs.txt
