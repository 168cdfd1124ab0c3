//go:build race

package buffer_test

// raceEnabled says that the test was built with the race detector, which is slow, and whose pools forget at random.
const (
	raceEnabled = true
	many        = 2_000
)
