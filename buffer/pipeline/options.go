package pipeline

// Option is an option of [Run].
type Option func(*options)

type options struct {
	chunk   int // elements
	results int // elements, or 0 for as many as chunk
	depth   int // chunks, or 0 for defaultDepth
}

// The depth of a pipeline. With the default depth one chunk can be read, one processed, one copied back and one written
// at the same time.
const (
	defaultDepth = 4
	maxDepth     = 64
)

// WithResults sets the most elements that the results of a chunk have. Without it, or with 0, that is the size of a
// chunk.
func WithResults(n int) Option { return func(o *options) { o.results = n } }

// WithDepth sets how many chunks are under way at once, from 1 to 64. Without it, or with 0, there are 4.
func WithDepth(n int) Option { return func(o *options) { o.depth = n } }
