//go:build !unix

package main

import "time"

// processor returns 0: the processor time is not known on these systems.
func processor() time.Duration { return 0 }
