// Package adapt wraps allocators of package pool. Each function takes a [pool.Allocator] and returns one that does
// a thing more: it limits ([Limit]), counts ([Count]), remembers who allocated ([Track]), writes a log ([Log]), rounds
// sizes ([Bins], [FixedSize]), makes room when memory runs out ([OnFailure]) or prefetches ([Prefetch]). They compose:
//
//	scratch := adapt.Limit(adapt.Track(p.WithTag("scratch"), adapt.TrackOptions{Stacks: true}), 64<<20)
//
// The log of one run is read by [ReadLog], and run again by [Replay.Run] on any allocator.
//
// An allocator that is wrapped can still be used directly, and by several wrappers; what does not pass through
// a wrapper is not its concern. Everything is safe for concurrent use if the wrapped allocator is.
//
// # Adaptors of your own
//
// A type that wraps an allocator has its two methods. Where Free has something to do it returns blocks with
// [pool.Block.From], so that Free of the block reaches it; the block that From(nil) returns is a key for a map of live
// blocks.
package adapt
