package hal

import (
	"context"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
)

// targets maps how the names of architectures begin to the backend that compiles for them.
var targets = map[string]string{"sm_": "cuda", "compute_": "cuda", "gfx": "hip"}

// CompileFor compiles source text for an architecture of which no device need be present: CUDA C++ for "sm_90" or "compute_70", which gives a
// cubin or PTX, and HIP C++ for "gfx942", which gives a code object. A linked backend does it with its vendor's compiler, which has to be
// installed, in place of a device's [Device.Compile]. It keeps nothing. If ctx ends first, CompileFor returns, and the compiler ends on
// its own.
//
// The error is of kind ErrNotBuilt if the backend is not linked, ErrUnsupported if no backend or its compiler knows the architecture,
// ErrUnavailable if the compiler is not installed, and ErrBuild if the text does not compile; then errors.As finds a [*BuildError].
func CompileFor(ctx context.Context, target string, src Source) (Image, error) {
	const op = "compile"
	switch {
	case ctx.Err() != nil:
		return Image{}, interrupted(op, ctx)
	case target == "":
		return Image{}, Errorf(op, ErrInvalidArgument, "no target")
	case strings.TrimSpace(src.Text) == "":
		return Image{}, Errorf(op, ErrInvalidArgument, "empty source")
	}
	c, err := compilerFor(op, target)
	if err != nil {
		return Image{}, err
	}
	img, err := within(ctx, op, func() (*Image, error) { return c.Compile(target, &src) }, nil)
	if err != nil {
		return Image{}, err
	}
	return *img, nil
}

// compilerFor returns the linked backend that compiles for a target.
func compilerFor(op, target string) (driver.Compiler, error) {
	linked := driver.Backends()
	for prefix, name := range targets {
		if !strings.HasPrefix(target, prefix) {
			continue
		}
		i := slices.IndexFunc(linked, func(b driver.Backend) bool { return b.Name() == name })
		if i < 0 {
			err := notBuilt(name)
			err.(*Error).Op = op
			return nil, err
		}
		if c, ok := linked[i].(driver.Compiler); ok {
			return c, nil
		}
		return nil, &Error{Op: op, Backend: name, Device: -1, Kind: ErrUnsupported, Detail: "the backend has no compiler"}
	}
	return nil, Errorf(op, ErrUnsupported, "no backend compiles for the target %q; targets are like sm_90, compute_70 and gfx942", target)
}
