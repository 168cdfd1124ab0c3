//go:build !race

package cudahip

const raceEnabled = false
