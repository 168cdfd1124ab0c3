package dlpack

import (
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

// VersionError says that a struct has another major version of DLPack, whose layout this package does not know. It
// is of kind hal.ErrUnsupported.
type VersionError struct{ Major, Minor uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("dlpack: the tensor has version %d.%d; only version %d is supported", e.Major, e.Minor, major)
}

// Is reports whether target is hal.ErrUnsupported.
func (e *VersionError) Is(target error) bool { return target == hal.ErrUnsupported }
