//go:build !linux

package hostmem

import (
	"errors"

	"github.com/go-halyard/halyard/hal"
)

func mapPages(int) ([]byte, error) { return nil, errors.New("only on Linux") }

func unmapPages([]byte) {}

func guardKind(error) error { return hal.ErrUnsupported }

func protect([]byte, Level) error { return nil }

func discard([]byte) {}
