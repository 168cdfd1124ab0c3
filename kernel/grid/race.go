//go:build race

package grid

// racing says that the race detector watches. It sees what goroutines do without order, and an order between the turns of [runTurns] that
// threads do not have.
const racing = true
