// Package slot is how package hal gives package layer access to functions that hal does not export. Package layer imports hal, so hal
// cannot import layer, and stores the value here. Package buffer does the same for package internal/parts.
package slot

// Hal has the functions by name. Package hal sets it when it is initialised, and nothing changes it later.
var Hal map[string]any

// Parts is the same for package internal/parts. Package buffer sets it.
var Parts map[string]any
