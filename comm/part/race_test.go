//go:build race

package part_test

// raceEnabled says that the test was built with the race detector.
const raceEnabled = true
