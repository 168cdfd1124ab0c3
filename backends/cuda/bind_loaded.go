//go:build cuda && !(linked && cgo)

package cuda

import (
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

const binding = "loaded"

func bind(lib *dl.Library) (cudahip.API, error) { return load(lib) }
