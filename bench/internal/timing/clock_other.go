//go:build !windows

package timing

import "time"

// clock returns a clock that starts at about 0.
func clock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
