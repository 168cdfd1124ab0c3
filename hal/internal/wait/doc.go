// Package wait lets package hal wait for work, and make work wait for other work. However many goroutines wait, at most four threads a
// device are blocked, and an event that is only polled needs no goroutine. The waits have no cycle.
//
// # What a wait costs
//
// An [Event] stands for the work that was enqueued on a [Stream] up to one point. A driver's call that waits for it may cost a thread, so at
// most four such calls are made on a device at once, for the oldest events; one timer polls all others (watch.go). A goroutine that waits
// with a context blocks on a channel, never in a driver's call, so its wait ends with the context.
//
// A stream waits for an event of its own driver by the driver's means. For an event of another driver that does not end at once, it gets a
// bridge: a gate on the stream, which this package opens when the event's work has ended. A goroutine that waits for such a stream helps:
// it waits for the bridges' events and opens the gates itself.
//
// # Who asks, and what an answer means
//
// A driver's Query that returns done says how the work has ended. A Query that returns an error without done has failed itself and says
// nothing about the work, which may still run: its memory must not be freed or lent, and no other work may begin in its place. So such an
// answer counts as "not yet", and the question is asked again; if a driver fails to answer 500 times in a row, its device counts as lost.
// If the driver fails to answer for one stream only, that stream fails, and not the device: the program may have imported the stream, and its
// owner may have destroyed it. An error of a Sync says as little about the work as one of a Query: only a Query that returns done does.
//
// A driver may report a failure of work only once. What this package learns while it asks for its own purposes is kept as unreported, for
// the program's next Done or Sync of the stream.
//
// # Why the waits have no cycle
//
// A free of CUDA or HIP may block until all work of its device, or of its driver, is done (driver.FreeBlocker). If a gate holds that work
// up, and the blocked goroutine is the one that would open the gate, that is a deadlock. Frees are calls that free memory, unload code,
// trim caches and close devices. A gate of the program (Stream.Gate) is opened by a goroutine of the program, a bridge by this
// package.
//
//	what waits                                               for what
//	a free                                                   all work of its driver
//	work                                                     work and gates before it on its stream, and events that it waits for
//	a bridge                                                 the work of another driver that its event stands for, or the work of a
//	                                                         closed stream, and the call that gives that stream back (WaitLatch)
//	a gate of the program                                    some goroutine of the program
//	a goroutine in Sync, View and the like                   work
//	a goroutine in Close, Alloc or Reclaim                   frees, its own and those that the reaper makes
//	a goroutine in Gate                                      the frees under way
//	a goroutine in WaitEvent or WaitStream that makes a      the frees under way, if a gate of the program is shut
//	bridge
//
// Work waits only for what was enqueued before it, so work and bridges alone make no cycle. Frees add none, because no work waits for a free.
// (A bridge may wait for the call that gives a stream back. That call is not a free, because it does not wait for other work.)
// Every cycle has to lead from a free through work to a gate of the program, and from there through a goroutine back to a free. Three
// rules ensure that no chain of waits leads from a free to a gate of the program. Then every free ends by itself, and so does every wait for
// a free:
//
//  1. A free begins only if its driver has no shut gate of the program, and no shut bridge while any driver has one ([life.Frees.Begin]).
//  2. A gate of the program is made only while no free is under way ([life.Frees.GateComes]).
//  3. While a gate of the program is shut, a bridge is made only while no free is under way ([life.Frees.BridgeComes]). While no such gate
//     is shut, none can hold up the work that the bridge waits for, and by rule 2 none is made until the frees under way have ended.
//
// A free that may not begin is left to the reaper, so its caller does not wait. A gate or bridge waits for the frees under way, and no
// free begins meanwhile. What opens bridges (the goroutines of the watch, and those that help) takes no lock that is held during these
// waits: functions given to Event.OnDone must not block, and gates may be made with locks of package buffer held. Device.Close waits for
// the frees of its device; if another goroutine makes a gate on the driver during Close, Close waits until that gate is opened.
//
// These rules do not cover work that the program itself enqueues on a stream's handle, kernels that wait for the host, and collective
// operations that wait for other ranks. A free waits for all of these, as it does in C.
package wait
