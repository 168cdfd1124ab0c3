//go:build !go1.27 || !goexperiment.simd || !amd64

package grid

func clearUpper() {}
