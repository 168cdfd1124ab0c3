//go:build cuda

package backends

import _ "github.com/go-halyard/halyard/backends/cuda" // selected by its tag
