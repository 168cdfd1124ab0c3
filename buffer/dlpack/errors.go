package dlpack

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

// ErrVersion means that a struct has another major version of DLPack, whose layout this package does not know. Such an error also
// has the kind hal.ErrUnsupported.
var ErrVersion = errors.New("another major version of DLPack")

func versionError(op string, v cVersion) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrUnsupported, Err: ErrVersion,
		Detail: fmt.Sprintf("the tensor has version %d.%d; only version %d is supported", v.major, v.minor, major)}
}
