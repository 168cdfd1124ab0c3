package template

// OnDone implements driver.Notifier (CapHostCallback): fn runs after the work enqueued so far, on a goroutine where it may
// block and may call the backend. Later work does not wait for it. A vendor's callback usually may do neither: then the
// callback only wakes a goroutine, which calls fn.
func (s *stream) OnDone(fn func()) error {
	return s.enqueue("call", func() error { go fn(); return nil })
}
