// Package siglib restores the program's signal handlers after calls of a library that replaces them. Compilers inside OpenCL drivers
// install their own handlers for about fifteen signals, to clean up when a compiler process dies. In a Go program these handlers swallow
// SIGUSR1 and SIGTERM, and end the process at a nil pointer dereference from which the program could recover.
//
// It works on Linux on amd64 and arm64; elsewhere its functions do nothing.
package siglib
