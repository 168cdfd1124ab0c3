//go:build !race

package staging_test

const raceEnabled = false
