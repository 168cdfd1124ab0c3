//go:build !windows

package kernelcache

// retry calls fn. An open file hinders nobody here.
func retry(fn func() error) error { return fn() }
