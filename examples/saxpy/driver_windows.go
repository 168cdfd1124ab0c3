package main

import "syscall"

// openDriver opens the library that the OpenCL backend has opened already.
func openDriver() (uintptr, error) {
	lib, err := syscall.LoadLibrary("OpenCL.dll")
	return uintptr(lib), err
}

func lookup(lib uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(lib), name)
}
