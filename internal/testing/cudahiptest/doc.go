// Package cudahiptest contains the tests that the CUDA and HIP backends share. They check what
// package hal/driver promises, on each vendor's simulated driver and on hardware.
package cudahiptest
