//go:build !race

package buffer_test

// raceEnabled says that the test was built with the race detector. many is as in growth_test.go.
const (
	raceEnabled = false
	many        = 10_000
)
