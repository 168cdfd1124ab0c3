package cudahip

import "unsafe"

// handlesByValue says whether this platform's frames can call IPCOpen, which takes an IPCHandle by
// value.
const handlesByValue = true

// open sets the arguments of IPCOpen. The System V ABI passes a structure of 64 bytes on the stack,
// after the other arguments that are on the stack. Here there are none: the rest of the arguments
// is in registers.
func (f *Frame) open(h *IPCHandle, flags uintptr) {
	f.Out[resultWord] = 0
	f.Args = [maxArgs]uintptr{0: f.OutAddr(resultWord), 1: flags}
	*(*IPCHandle)(unsafe.Pointer(&f.Args[6])) = *h
}
