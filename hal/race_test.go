//go:build race

package hal_test

// raceEnabled says that the test was built with the race detector, whose pools forget at random.
const raceEnabled = true
