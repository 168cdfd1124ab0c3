//go:build race

package gridgen

// Racing says whether the program was built with the race detector. The detector finds races only between goroutines: it takes
// the phases of a kernel for ordered, which threads are not.
const Racing = true
