//go:build go1.27 && goexperiment.simd

package main

// onHostAs says where rows on the host run.
const onHostAs = "host, as vectors"
