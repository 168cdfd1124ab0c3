//go:build opencl && !(linked && cgo)

package opencl

// bindTable fills the table of calls. This build has one way.
func bindTable() (*table, error) { return loadTable() }
