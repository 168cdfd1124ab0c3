//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package main

import "github.com/go-halyard/halyard/kernel/lanes"

// asVectors says whether the host runs what has vector code as vectors.
var asVectors = lanes.Hardware()
