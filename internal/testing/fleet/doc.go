// Package fleet has the tests that need every backend at once: the host, OpenCL on whatever is installed, two
// simulated CUDA devices and a simulated HIP device, all of them places of one buffer. They are built with
// the tags cuda, hip and opencl.
package fleet
