//go:build !linux

package nap

import "time"

// yield does nothing: on these systems only sleeps let other processes run.
func yield() {}

func brief(d time.Duration) { time.Sleep(d) }
