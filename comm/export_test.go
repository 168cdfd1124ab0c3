package comm

// Lanes is the number of lanes with sends that have not left.
func (c *Comm) Lanes() int {
	l := &c.engine.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.last)
}

// Ask asks what operations in the order of streams wait for, as the goroutine that goes on with them does.
func (c *Comm) Ask() { c.engine.mover.ask() }
