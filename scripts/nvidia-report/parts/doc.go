// Package parts has tests for the folder of nvidia-report: what needs an NVIDIA device and is not a test of one package.
//
// They run on the CUDA devices that there are, simulated ones too, and say so. Where there are none they are skipped.
package parts
