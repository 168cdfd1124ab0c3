//go:build race

package halyard_test

const raceEnabled = true
