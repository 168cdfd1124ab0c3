// Package adapt wraps allocators of package pool. Each function takes a [pool.Allocator] and returns one that
// also limits ([Limit]), remembers the calls that allocated ([Track]), rounds sizes ([Bins], [FixedSize]), makes
// room when memory runs out ([OnFailure]) or prefetches ([Prefetch]). They compose:
//
//	scratch := adapt.Limit(adapt.Track(p, adapt.WithStacks()), 64<<20)
//
// A pool can stand on any of them in turn ([pool.WithSource]), and a bin can have an allocator of its own ([Bin]).
//
// An allocator that is wrapped can still be used directly, and can be wrapped more than once; a wrapper does not know of
// blocks that do not pass through it. Everything is safe for concurrent use if the wrapped allocator is.
//
// # Adaptors of your own
//
// A type that wraps an allocator has the two methods of [pool.Allocator]. If its Free is to do more than the wrapped
// allocator's, its Alloc calls [pool.Block.From] with the wrapper and returns the result: then Block.Free calls the
// wrapper's Free. To find a live block in a map, use b.From(nil) as the key: it is the same for every copy of the block b.
package adapt
