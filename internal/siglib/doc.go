// Package siglib keeps the program's signal handlers while a library is called that replaces
// them. Compilers inside OpenCL drivers install handlers of their own for some fifteen signals,
// to clean up when a compiler process dies; inside a Go program they swallow SIGUSR1 and
// SIGTERM, and turn a nil pointer that would be recovered into an exit.
//
// It works on Linux on amd64 and arm64; elsewhere its functions do nothing.
package siglib
