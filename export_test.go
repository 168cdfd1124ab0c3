package halyard

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
