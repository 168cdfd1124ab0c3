//go:build !amd64 && !arm64

package callsite

import "runtime"

// Here sets s to the calls that led to its caller.
func Here(s *Site) {
	*s = Site{}
	runtime.Callers(3, s[:])
}
