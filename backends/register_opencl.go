//go:build opencl

package backends

import _ "github.com/go-halyard/halyard/backends/opencl" // selected by its tag
