//go:build race

package staging_test

const raceEnabled = true
