package pipeline

// Option is an option of [Run].
type Option func(*options)

type options struct {
	chunk   int // elements
	results int // elements, or 0 for as many as chunk
	depth   int // chunks, or 0 for defaultDepth
}

// The depth of a pipeline is the number of chunks that are in work at the same time. With the default depth one chunk can be
// read, one processed, one copied back and one written at the same time.
const (
	defaultDepth = 4
	maxDepth     = 64
)

// WithResults sets the largest number of elements in the results of a chunk. Without the option, or with 0, it is the size of a
// chunk.
func WithResults(n int) Option { return func(o *options) { o.results = n } }

// WithDepth sets the number of chunks that are in work at the same time, from 1 to 64. Without the option, or with 0, it is 4.
func WithDepth(n int) Option { return func(o *options) { o.depth = n } }
