//go:build !race

package comm_test

// raceEnabled says that the test was built with the race detector.
const raceEnabled = false
