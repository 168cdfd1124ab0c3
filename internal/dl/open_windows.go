package dl

import (
	"path/filepath"
	"syscall"
	"unsafe"
)

// Search flags of LoadLibraryEx. They exclude the current directory, where an attacker could place a library of the same name.
const (
	searchDLLLoadDir   = 0x00000100
	searchDefaultDirs  = 0x00001000
	loadLibraryExWName = "LoadLibraryExW"
)

var loadLibraryEx = syscall.NewLazyDLL("kernel32.dll").NewProc(loadLibraryExWName)

func open(name string, _ bool) (uintptr, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	flags := uintptr(searchDefaultDirs)
	if filepath.IsAbs(name) {
		flags |= searchDLLLoadDir
	}
	handle, _, err := loadLibraryEx.Call(uintptr(unsafe.Pointer(path)), 0, flags)
	if handle == 0 {
		return 0, err
	}
	return handle, nil
}

func static() bool { return false } // Windows has no such programs

func lookup(handle uintptr, symbol string) uintptr {
	if handle == 0 {
		return 0
	}
	addr, err := syscall.GetProcAddress(syscall.Handle(handle), symbol)
	if err != nil {
		return 0
	}
	return addr
}

// Process returns the program itself as a library. On Windows it has no symbols: the parts of a program may each use another C library.
func Process() *Library { return &Library{name: "this program"} }
