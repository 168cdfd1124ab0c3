//go:build race

package cudahiptest

const raceEnabled = true
