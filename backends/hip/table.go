//go:build hip

package hip

import (
	"sync"

	"github.com/go-halyard/halyard/internal/dl"
)

// entry is the hipHostFn_t that hipLaunchHostFunc calls: one argument, the user data.
var entry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

// oldEntry is the hipStreamCallback_t that hipStreamAddCallback calls: the stream, its status and the user data.
var oldEntry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(3, 2) })
