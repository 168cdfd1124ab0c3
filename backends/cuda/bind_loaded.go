//go:build cuda && !(linked && cgo)

package cuda

import (
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
)

const binding = "loaded"

func bind(lib *dl.Library) (gpu.API, error) { return load(lib) }
