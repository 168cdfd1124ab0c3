package hal

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// targets maps prefixes of architecture names to the backend that compiles for these architectures.
var targets = map[string]string{"sm_": "cuda", "compute_": "cuda", "gfx": "hip"}

// CompileFor compiles source text for an architecture, without a device. CUDA C++ gives a cubin for a target like "sm_90", and PTX for one
// like "compute_70"; HIP C++ gives a code object for a target like "gfx942". The backend must be linked, and its vendor's compiler
// installed. With a device, use [Device.Compile]. CompileFor does not cache the result. If ctx ends first, CompileFor returns and the
// compiler finishes in the background.
//
// The error is of kind ErrNotBuilt if the backend is not linked, ErrUnsupported if no backend or its compiler knows the architecture,
// ErrUnavailable if the compiler is not installed, and ErrBuild if the text does not compile; then errors.As finds a [*BuildError].
func CompileFor(ctx context.Context, target string, src Source) (Image, error) {
	const op = "compile"
	switch {
	case ctx.Err() != nil:
		return Image{}, wait.Interrupted(op, ctx)
	case target == "":
		return Image{}, Errorf(op, ErrInvalidArgument, "no target")
	case strings.TrimSpace(src.Text) == "":
		return Image{}, Errorf(op, ErrInvalidArgument, "empty source")
	}
	c, err := compilerFor(op, target)
	if err != nil {
		return Image{}, err
	}
	return compileWith(ctx, op, c, target, src)
}

func compileWith(ctx context.Context, op string, c driver.Compiler, target string, src Source) (Image, error) {
	src.Headers, src.Options = maps.Clone(src.Headers), slices.Clone(src.Options) // the program may change its own once ctx has ended
	img, err := within(ctx, 0, op, func() (*Image, error) { return c.Compile(target, &src) }, nil)
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
