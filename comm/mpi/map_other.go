//go:build !unix

package mpi

import (
	"errors"
	"unsafe"
)

const canMap = false

func mapPages(uint64) (unsafe.Pointer, error) { return nil, errors.ErrUnsupported }
