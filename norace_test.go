//go:build !race

package halyard_test

const raceEnabled = false
