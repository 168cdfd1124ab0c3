//go:build !race

package gridgen

// Racing says whether the program was built with the race detector.
const Racing = false
