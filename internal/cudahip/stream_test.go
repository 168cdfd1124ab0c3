package cudahip

import "testing"

// lostAPI is an API whose device is lost while a host call is enqueued: all host calls are abandoned, and then the call fails.
type lostAPI struct {
	API
	calls *hostCalls
}

func (a *lostAPI) HostCall(Context, uintptr, func()) (uintptr, Code) {
	if a.calls != nil {
		a.calls.abandon(nil)
	}
	return 0, CodeInvalidValue
}

// A function that was abandoned while it was enqueued is called in its place, so enqueue reports no error; a function that enqueue refuses
// is not called.
func TestAbandonedWhileEnqueued(t *testing.T) {
	var c hostCalls
	called := make(chan struct{}, 1)
	lost := func() { called <- struct{}{} }
	if code := c.enqueue(&Stream{api: &lostAPI{calls: &c}}, nil, lost); code != Success {
		t.Errorf("abandoned: code %d, although lost is called", code)
	}
	<-called
	if code := c.enqueue(&Stream{api: &lostAPI{}}, nil, lost); code != CodeInvalidValue {
		t.Errorf("refused: code %d", code)
	}
	if code := c.enqueue(&Stream{api: &lostAPI{calls: &c}}, nil, nil); code != CodeInvalidValue {
		t.Errorf("abandoned with nothing to call: code %d", code)
	}
	c.abandon(nil)
	if len(c.open) != 0 || len(called) != 0 {
		t.Errorf("refused: %d open, %d called", len(c.open), len(called))
	}
}
