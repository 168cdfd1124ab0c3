package cudahip

import "unsafe"

// handlesByValue says whether this platform's frames can call IPCOpen, which takes an IPCHandle by
// value.
const handlesByValue = true

// open sets the arguments of IPCOpen. The AAPCS64 ABI passes a structure of 64 bytes as the address
// of a copy of it.
func (f *Frame) open(h *IPCHandle, flags uintptr) {
	f.Out[resultWord] = 0
	*(*IPCHandle)(unsafe.Pointer(&f.Out)) = *h
	f.Args = [maxArgs]uintptr{0: f.OutAddr(resultWord), 1: f.OutAddr(0), 2: flags}
}
