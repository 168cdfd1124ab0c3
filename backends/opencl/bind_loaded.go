//go:build opencl && !(linked && cgo)

package opencl

// bindTable fills the table of calls. In this build every call comes from the loaded library.
func bindTable() (*table, error) { return loadTable() }
