package cudahip

import "unsafe"

// handlesByValue says that IPCOpen can be called, which takes an IPCHandle by value.
const handlesByValue = true

// open sets the arguments of IPCOpen. The System V ABI puts a structure of 64 bytes on the
// stack, behind the arguments that did not fit into registers, of which there are none.
func (f *frame) open(h *IPCHandle, flags uintptr) {
	f.out[resultWord] = 0
	f.args = [maxArgs]uintptr{0: f.outAddr(resultWord), 1: flags}
	*(*IPCHandle)(unsafe.Pointer(&f.args[6])) = *h
}
