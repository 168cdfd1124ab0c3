// Package cudahiptest holds a vendor's backend to what package gpu promises, on the simulated
// driver of that vendor. The CUDA and HIP backends run the same tests.
package cudahiptest
