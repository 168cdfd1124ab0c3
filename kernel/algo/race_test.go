//go:build race

package algo_test

// racing says that the threads of a block are goroutines, which takes much longer.
const racing = true
