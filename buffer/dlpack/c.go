//go:build (linux || darwin || windows) && (amd64 || arm64)

package dlpack

import (
	"sync"

	"github.com/go-halyard/halyard/internal/dl"
)

// supported reports whether C can call Go here, and lays structs out as this package does.
const supported = true

// deleterEntry is the one deleter of all structs that are made here.
var deleterEntry = sync.OnceValue(func() uintptr {
	return dl.NewEntry(func(self uintptr) { lent.end(self) })
})

// call calls a deleter; 0 is none.
func call(deleter, self uintptr) {
	if deleter != 0 {
		dl.ProcAt(deleter).Call1(self)
	}
}
