//go:build !race

package cudahiptest

const raceEnabled = false
