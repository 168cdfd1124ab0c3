package pool

// Option is an option of [New].
type Option func(*options)

type options struct {
	limit, maxCached      uint64 // bytes, 0 for none
	chunk, large          uint64 // bytes
	noWait, noStreamAlloc bool
}

// WithLimit bounds the bytes that the pool takes from the device, in all kinds of memory together; 0 means no limit.
func WithLimit(bytes uint64) Option { return func(o *options) { o.limit = bytes } }

// WithMaxCached bounds the bytes of free memory that the pool keeps; 0 means no limit. The pool checks
// the bound each time a mebibyte, or an eighth of the bound if that is less, has been freed on a
// stream. With n streams, n > 16, it checks only about every n/16th time.
func WithMaxCached(bytes uint64) Option { return func(o *options) { o.maxCached = bytes } }

// WithChunk sets the size of the memories that small blocks share; 0 means 32 MiB. The first
// chunks are smaller: from 2 MiB on, each is as large as all earlier ones together.
func WithChunk(bytes uint64) Option { return func(o *options) { o.chunk = bytes } }

// WithLarge sets the size from which on a block is a memory of its own, of exactly the
// size asked for; 0 means an eighth of a chunk, see [WithChunk].
func WithLarge(bytes uint64) Option { return func(o *options) { o.large = bytes } }

// WithoutWaits forbids the pool to make one stream wait for another: when no other memory is left, Alloc fails.
func WithoutWaits() Option { return func(o *options) { o.noWait = true } }

// WithoutStreamAlloc makes large blocks come from hal.Device.Alloc even on devices that
// allocate in stream order.
func WithoutStreamAlloc() Option { return func(o *options) { o.noStreamAlloc = true } }
