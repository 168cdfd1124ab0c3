package dl

// Proc is the address of a C function. The zero Proc is no function, and calling it panics.
//
// The Call methods pass integer and pointer arguments and return the integer result; if C's result is narrower than a word, the upper bits
// are undefined. They do not allocate, and they let other goroutines run while C blocks. They may be used from any goroutine; the call may
// run on any thread, unless the goroutine is locked to one. Read the package comment before you pass a pointer.
type Proc uintptr

// ProcAt returns the function at an address that a library handed out, such as the result of clGetExtensionFunctionAddressForPlatform.
func ProcAt(addr uintptr) Proc { return Proc(addr) }

// Valid reports whether there is a function to call.
func (p Proc) Valid() bool { return p != 0 }

// MaxArgs is the largest number of arguments of a call.
const MaxArgs = 12

// Call0 calls the function with no arguments.
//
//go:uintptrescapes
func (p Proc) Call0() uintptr {
	f := frames.Get().(*frame)
	return f.call(p, 0)
}

// Call1 calls the function with one argument.
//
//go:uintptrescapes
func (p Proc) Call1(a0 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0] = a0
	return f.call(p, 1)
}

// Call2 calls the function with two arguments.
//
//go:uintptrescapes
func (p Proc) Call2(a0, a1 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1] = a0, a1
	return f.call(p, 2)
}

// Call3 calls the function with three arguments.
//
//go:uintptrescapes
func (p Proc) Call3(a0, a1, a2 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2] = a0, a1, a2
	return f.call(p, 3)
}

// Call4 calls the function with four arguments.
//
//go:uintptrescapes
func (p Proc) Call4(a0, a1, a2, a3 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3] = a0, a1, a2, a3
	return f.call(p, 4)
}

// Call5 calls the function with five arguments.
//
//go:uintptrescapes
func (p Proc) Call5(a0, a1, a2, a3, a4 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4] = a0, a1, a2, a3, a4
	return f.call(p, 5)
}

// Call6 calls the function with six arguments.
//
//go:uintptrescapes
func (p Proc) Call6(a0, a1, a2, a3, a4, a5 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	return f.call(p, 6)
}

// Call7 calls the function with seven arguments.
//
//go:uintptrescapes
func (p Proc) Call7(a0, a1, a2, a3, a4, a5, a6 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5], f.args[6] = a0, a1, a2, a3, a4, a5, a6
	return f.call(p, 7)
}

// Call8 calls the function with eight arguments.
//
//go:uintptrescapes
func (p Proc) Call8(a0, a1, a2, a3, a4, a5, a6, a7 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	f.args[6], f.args[7] = a6, a7
	return f.call(p, 8)
}

// Call9 calls the function with nine arguments.
//
//go:uintptrescapes
func (p Proc) Call9(a0, a1, a2, a3, a4, a5, a6, a7, a8 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	f.args[6], f.args[7], f.args[8] = a6, a7, a8
	return f.call(p, 9)
}

// Call10 calls the function with ten arguments.
//
//go:uintptrescapes
func (p Proc) Call10(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	f.args[6], f.args[7], f.args[8], f.args[9] = a6, a7, a8, a9
	return f.call(p, 10)
}

// Call11 calls the function with eleven arguments.
//
//go:uintptrescapes
func (p Proc) Call11(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	f.args[6], f.args[7], f.args[8], f.args[9], f.args[10] = a6, a7, a8, a9, a10
	return f.call(p, 11)
}

// Call12 calls the function with twelve arguments.
//
//go:uintptrescapes
func (p Proc) Call12(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11 uintptr) uintptr {
	f := frames.Get().(*frame)
	f.args[0], f.args[1], f.args[2], f.args[3], f.args[4], f.args[5] = a0, a1, a2, a3, a4, a5
	f.args[6], f.args[7], f.args[8], f.args[9], f.args[10], f.args[11] = a6, a7, a8, a9, a10, a11
	return f.call(p, 12)
}
