package conformance

import "unsafe"

// at returns the address at an offset in an area, or its end.
func at(a *area, off int) unsafe.Pointer { return unsafe.Add(a.p, off) }
