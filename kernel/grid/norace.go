//go:build !race

package grid

// racing says that the race detector watches.
const racing = false
