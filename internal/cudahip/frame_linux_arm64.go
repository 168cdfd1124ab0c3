package cudahip

import "unsafe"

// handlesByValue says whether this platform's frames can call IPCOpen, which takes an IPCHandle by
// value.
const handlesByValue = true

// open sets the arguments of IPCOpen. The AAPCS64 ABI passes a structure of 64 bytes as the address
// of a copy of it.
func (f *frame) open(h *IPCHandle, flags uintptr) {
	f.out[resultWord] = 0
	*(*IPCHandle)(unsafe.Pointer(&f.out)) = *h
	f.args = [maxArgs]uintptr{0: f.outAddr(resultWord), 1: f.outAddr(0), 2: flags}
}
