//go:build vulkan

package backends

import _ "github.com/go-halyard/halyard/backends/vulkan" // selected by its tag
