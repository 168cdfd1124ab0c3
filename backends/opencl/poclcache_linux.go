//go:build opencl

package opencl

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Processes that compile the same program at the same time in one cache folder of PoCL end each other: one reads a program's folder while
// another writes there (PoCL 3.1: an assertion in pocl_binary_get_kernels_metadata). PoCL also writes there while kernels run, so a lock
// around the calls that build would not be enough. Instead each process uses a folder of its own for as long as it runs: PoCL's usual folder
// if no other process of this package uses it, else the first free one of the numbered folders in it. The folders and their contents stay.

// poclFolders is how many processes get a folder of their own. Further ones share the usual one.
const poclFolders = 1024

// poclLock is locked until the process ends.
var poclLock *os.File

// takePoclCache chooses the folder. It must be called before PoCL lists its devices, which a loader may ask for when it lists platforms. If a
// folder cannot be locked, PoCL uses its usual one.
var takePoclCache = sync.OnceFunc(func() {
	const variable = "POCL_CACHE_DIR"
	usual := os.Getenv(variable)
	if usual == "" {
		caches, err := os.UserCacheDir()
		if err != nil {
			return
		}
		usual = filepath.Join(caches, "pocl", "kcache")
	}
	folder := usual
	for n := range poclFolders {
		if n > 0 {
			folder = filepath.Join(usual, fmt.Sprintf("halyard-%d", n))
		}
		err := os.MkdirAll(folder, 0o700)
		if err == nil {
			poclLock, err = os.OpenFile(filepath.Join(folder, "halyard.lock"), os.O_RDWR|os.O_CREATE, 0o600)
		}
		if err != nil {
			return
		}
		if err = syscall.Flock(int(poclLock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			if n > 0 {
				setForC(variable, folder)
			}
			return
		}
		_ = poclLock.Close()
		if err != syscall.EWOULDBLOCK {
			return
		}
	}
})
