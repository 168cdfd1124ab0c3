// Package parts has those tests of nvidia-report that need an NVIDIA device and belong to no other package.
//
// They run on all CUDA devices, simulated ones too, and log their names. Without a device they are skipped.
package parts
