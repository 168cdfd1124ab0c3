//go:build opencl && !linux

package opencl

func takePoclCache() {}
