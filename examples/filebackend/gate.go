package filebackend

import "github.com/go-halyard/halyard/hal/driver"

// gate holds one stream shut.
type gate chan struct{}

// Gate implements driver.Gater.
func (s *stream) Gate() (driver.Gate, error) {
	g := make(gate)
	return g, s.enqueue(func() error { <-g; return nil })
}

// Open implements driver.Gate.
func (g gate) Open() error {
	close(g)
	return nil
}
