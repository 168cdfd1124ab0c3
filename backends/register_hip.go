//go:build hip

package backends

import _ "github.com/go-halyard/halyard/backends/hip" // selected by its tag
