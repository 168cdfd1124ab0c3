//go:build unix

package main

import (
	"syscall"
	"time"
)

// processor is how long the process has had a processor.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
