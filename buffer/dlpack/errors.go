package dlpack

import (
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

// VersionError reports a struct of another major version of DLPack, whose layout is not known. It is of
// kind hal.ErrUnsupported.
type VersionError struct{ Major, Minor uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("dlpack: a tensor of version %d.%d; this is for version %d", e.Major, e.Minor, major)
}

// Is reports whether target is hal.ErrUnsupported.
func (e *VersionError) Is(target error) bool { return target == hal.ErrUnsupported }
