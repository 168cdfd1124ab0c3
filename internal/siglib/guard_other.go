//go:build !(linux && (amd64 || arm64))

package siglib

// Works says whether the package restores handlers on this system.
const Works = false

// Enter does nothing.
func Enter() {}

// Leave does nothing and returns 0.
func Leave() (restored int) { return 0 }
