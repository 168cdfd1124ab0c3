//go:build !race

package conformance_test

// raceEnabled says that the test was built with the race detector.
const raceEnabled = false
