package template

import "github.com/go-halyard/halyard/hal/driver"

// gate holds one stream shut. With gates the suite examines streams whose work is not done, without sleeping, and package hal
// makes streams wait for events of other backends. CUDA has cuStreamWaitValue32 for this, OpenCL user events. Without this
// file and the bit CapGate the checks of order are skipped.
type gate chan struct{}

// Gate implements driver.Gater: work that is enqueued later does not start before the gate is opened.
func (s *stream) Gate() (driver.Gate, error) {
	g := make(gate)
	return g, s.enqueue("gate", func() error { <-g; return nil })
}

// Open implements driver.Gate. It is called once, from any goroutine, perhaps before the stream has come to the gate,
// and does not wait.
func (g gate) Open() error {
	close(g)
	return nil
}
