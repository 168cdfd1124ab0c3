// Package commtest is an engine of package comm whose ranks are goroutines of one process, so that programs that communicate can be
// tested without an MPI library and without a launcher:
//
//	func TestHalo(t *testing.T) {
//		commtest.Run(t, 4, func(e driver.Engine) error {
//			...
//		})
//	}
//
// A [Job] behaves like MPI where MPI leaves no choice. Where it leaves one, options choose. Long messages are not sent before somebody
// receives them ([EagerLimit]), and with [Adversary] whatever may be late or in another order is. [Job.Lose] takes a rank away.
//
// What real libraries cannot tell, a job does tell. A rank that waits for one which has left gets an error in place of a hang. Memory that does not come
// from the engine's Alloc is refused. With [Stuck] all ranks get an error once none of them can go on. [Run] fails the test if something
// was left over: a message that nobody received, a request that nobody tested, memory or a communicator that was not freed.
//
// Collective operations are computed from their definition, in the order of the ranks, once every rank has made the call.
//
// [Broken] makes a job behave wrongly in one way; the suite of package comm/conformance finds each of them.
package commtest
