//go:build !windows

package main

import (
	"os"

	"github.com/ebitengine/purego"
)

// openDriver opens the library that the CUDA backend has opened already.
func openDriver() (uintptr, error) {
	name := os.Getenv("HALYARD_CUDA_LIBRARY")
	if name == "" {
		name = "libcuda.so.1"
	}
	return purego.Dlopen(name, purego.RTLD_NOW)
}

func lookup(lib uintptr, name string) (uintptr, error) { return purego.Dlsym(lib, name) }
