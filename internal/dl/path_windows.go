package dl

import (
	"syscall"
	"unsafe"
)

var (
	getModuleHandleEx = syscall.NewLazyDLL("kernel32.dll").NewProc("GetModuleHandleExW")
	getModuleFileName = syscall.NewLazyDLL("kernel32.dll").NewProc("GetModuleFileNameW")
)

// Flags of GetModuleHandleEx.
const (
	moduleKeepCount   = 2
	moduleFromAddress = 4
)

// Path returns the path of the library that has the function, "" if the system does not say.
func (p Proc) Path() string {
	if !p.Valid() {
		return ""
	}
	var module uintptr
	if ok, _, _ := getModuleHandleEx.Call(moduleKeepCount|moduleFromAddress, uintptr(p), uintptr(unsafe.Pointer(&module))); ok == 0 {
		return ""
	}
	path := make([]uint16, 1<<15)
	n, _, _ := getModuleFileName.Call(module, uintptr(unsafe.Pointer(&path[0])), uintptr(len(path)))
	if n == 0 || n >= uintptr(len(path)) {
		return ""
	}
	return syscall.UTF16ToString(path[:n])
}
