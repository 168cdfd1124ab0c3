package comm

// Lanes is the number of lanes with sends that have not left.
func (c *Comm) Lanes() int {
	l := &c.engine.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.last)
}
