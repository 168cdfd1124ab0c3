package halyard

import (
	"context"
	"slices"
)

// Made is the number of buffers that a queue has.
func Made(q *Queue) int {
	q.c.mu.Lock()
	defer q.c.mu.Unlock()
	return len(q.c.made)
}

// Closing reports whether Close has begun.
func Closing(q *Queue) bool {
	q.c.mu.Lock()
	defer q.c.mu.Unlock()
	return q.c.closed
}

// Ended returns a channel that is closed when everything of a closed queue is closed.
func Ended(q *Queue) <-chan struct{} { return q.c.ended }

// Idle returns how many streams of a queue's closed forks wait for the next ones.
func Idle(q *Queue) int { return len(q.c.forks.idle) }

// FailToOpen makes Open fail to open some devices of several, until the function that it returns is called.
func FailToOpen(err error, names ...string) (end func()) {
	before := openWithStream
	openWithStream = func(ctx context.Context, name string) (opened, error) {
		if slices.Contains(names, name) {
			return opened{}, err
		}
		return before(ctx, name)
	}
	return func() { openWithStream = before }
}
