package filebackend

// OnDone implements driver.Notifier: fn runs on a goroutine of its own.
func (s *stream) OnDone(fn func()) error {
	return s.enqueue(func() error { go fn(); return nil })
}
