package kernel

// SetChecking turns the checks of EnvCheck on or off.
func SetChecking(on bool) { checking.Store(on) }
