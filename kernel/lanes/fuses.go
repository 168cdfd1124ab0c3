//go:build go1.27 && goexperiment.simd && (arm64 || amd64.v3)

package lanes

// Fuses says whether Go's compiler fuses x*y + z in scalar code. It may do that if x*y is not converted. Vectors are not fused.
const Fuses = true
