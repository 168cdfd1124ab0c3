package halyard

// Made is the number of buffers that a queue has.
func Made(q *Queue) int {
	q.c.mu.Lock()
	defer q.c.mu.Unlock()
	return len(q.c.made)
}
