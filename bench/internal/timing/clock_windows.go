package timing

import (
	"syscall"
	"time"
	"unsafe"
)

var (
	kernel32         = syscall.NewLazyDLL("kernel32.dll")
	performanceCount = kernel32.NewProc("QueryPerformanceCounter")
	performanceUnits = kernel32.NewProc("QueryPerformanceFrequency")
)

// clock returns a clock that starts at about 0 and does not allocate. On Windows the clock of package time advances in steps
// of up to 16 ms, which would make batches last seconds; the performance counter has steps of less than a microsecond. Its two
// calls do not fail on any Windows that Go supports.
func clock() func() time.Duration {
	var units, start int64
	_, _, _ = syscall.SyscallN(performanceUnits.Addr(), uintptr(unsafe.Pointer(&units)))
	_, _, _ = syscall.SyscallN(performanceCount.Addr(), uintptr(unsafe.Pointer(&start)))
	return func() time.Duration {
		var now int64
		_, _, _ = syscall.SyscallN(performanceCount.Addr(), uintptr(unsafe.Pointer(&now)))
		now -= start
		// Seconds and the rest are converted separately: the product of all ticks would overflow after some hours.
		return time.Duration(now/units)*time.Second + time.Duration(now%units)*time.Second/time.Duration(units)
	}
}
