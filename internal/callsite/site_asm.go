//go:build amd64 || arm64

package callsite

// Here sets s to the calls that led to its caller. It returns a number that running goroutines do not share, or 0 if there is none on the
// platform. A goroutine may have the number of one that has ended.
//
//go:noescape
func Here(s *Site) (goroutine uintptr)
