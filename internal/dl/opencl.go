package dl

import "sync"

// OpenCL is locked while OpenCL's drivers list their platforms or devices, by whichever backend. PoCL sets itself up in the first of these
// calls, and if two threads make them at once, one is told for the life of the process that there are no devices.
var OpenCL sync.Mutex

// LockOpenCL locks OpenCL if the library is made on top of OpenCL, as chipStar's HIP is, and returns the function that unlocks it.
func (l *Library) LockOpenCL() (unlock func()) {
	if !l.Proc("clGetPlatformIDs").Valid() {
		return func() {}
	}
	OpenCL.Lock()
	return OpenCL.Unlock
}
