// Package commtest is an engine of package comm whose ranks are goroutines of one process, so that programs that communicate can be
// tested without an MPI library and without a launcher:
//
//	func TestHalo(t *testing.T) {
//		commtest.Run(t, 4, func(e comm.Engine) error {
//			...
//		})
//	}
//
// A [Job] does what MPI prescribes. Where MPI leaves a choice, options decide: up to which length messages leave before they are received
// ([EagerLimit]), and whether things happen late or in another order ([Adversary]). [Job.Lose] takes a rank away.
//
// A job also reports mistakes that real libraries do not. A rank that waits for another which has left gets an error, and does not hang. Memory
// that does not come from the engine's Alloc is refused. With [Stuck] all ranks get an error once none of them can go on. [Run] fails the test
// if something was left over: a message that was not received, a request that was not tested, memory or a communicator that was not freed.
//
// Collective operations are computed from their definition, in the order of the ranks, once every rank has made the call.
package commtest
