//go:build !linux

package pages

import "errors"

// Map fails, with an error that is an errors.ErrUnsupported.
func Map(int) ([]byte, error) { return nil, errors.ErrUnsupported }

// Unmap does nothing.
func Unmap([]byte) {}

// Protect does nothing.
func Protect([]byte, Access) error { return nil }

// Discard does nothing.
func Discard([]byte) {}
