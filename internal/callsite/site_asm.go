//go:build amd64 || arm64

package callsite

// Here sets s to the calls that led to its caller.
//
//go:noescape
func Here(s *Site)
