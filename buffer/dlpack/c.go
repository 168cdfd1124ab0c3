//go:build (linux || darwin || windows) && (amd64 || arm64)

package dlpack

import (
	"sync"

	"github.com/go-halyard/halyard/internal/dl"
)

// supported says whether C can call Go on this platform, and whether C's structs have the layout that this package assumes.
const supported = true

// deleterEntry returns the deleter of all structs that this package makes.
var deleterEntry = sync.OnceValue(func() uintptr {
	return dl.NewFunction(func(a dl.CallbackArgs) { lent.end(a[0]) })
})

// call calls a deleter. A deleter of 0 means that there is none.
func call(deleter, self uintptr) {
	if deleter != 0 {
		dl.ProcAt(deleter).Call1(self)
	}
}
