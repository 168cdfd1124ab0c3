//go:build !windows

package kernelcache

// retry calls fn once: on these systems a file can be renamed and deleted while it is open.
func retry(fn func() error) error { return fn() }
