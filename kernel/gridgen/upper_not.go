//go:build !go1.27 || !goexperiment.simd || !amd64

package gridgen

func clearUpper() {}
