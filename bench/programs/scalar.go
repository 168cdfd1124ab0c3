//go:build !(go1.27 && goexperiment.simd && (amd64 || arm64 || wasm))

package main

// asVectors says whether the host runs what has vector code as vectors.
const asVectors = false
