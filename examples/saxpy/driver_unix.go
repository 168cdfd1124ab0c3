//go:build !windows

package main

import (
	"os"
	"runtime"

	"github.com/ebitengine/purego"
)

// openDriver opens the library that the OpenCL backend has opened already.
func openDriver() (uintptr, error) {
	name := os.Getenv("HALYARD_OPENCL_LIBRARY")
	switch {
	case name != "":
	case runtime.GOOS == "darwin":
		name = "/System/Library/Frameworks/OpenCL.framework/OpenCL"
	default:
		name = "libOpenCL.so.1"
	}
	return purego.Dlopen(name, purego.RTLD_NOW)
}

func lookup(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }
