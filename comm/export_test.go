package comm

// Ask asks what operations in the order of streams wait for, as the goroutine that goes on with them does.
func (c *Comm) Ask() { c.engine.mover.ask() }

// Lanes is the number of lanes with operations under way.
func (c *Comm) Lanes() int {
	m := &c.engine.mover
	m.turn.Lock()
	defer m.turn.Unlock()
	return len(m.lanes)
}
