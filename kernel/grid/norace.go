//go:build !race

package grid

// racing says whether the program was built with the race detector.
const racing = false
