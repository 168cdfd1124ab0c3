package kernel

// SetChecking turns the checks of EnvCheck on or off.
func SetChecking(on bool) { checking.Store(on) }

// SetCheckingBounds makes launches check indexes, or not.
func SetCheckingBounds(on bool) { checkingBounds.Store(on) }

// Loading reports whether the program is being loaded somewhere.
func Loading(p *Program) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.loads {
		if !l.ready {
			return true
		}
	}
	return false
}
