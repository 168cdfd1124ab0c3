//go:build !linux

package pages

import "errors"

// Protect fails, with an error that is an errors.ErrUnsupported.
func Protect([]byte, Access) error { return errors.ErrUnsupported }

// Discard does nothing.
func Discard([]byte) {}
