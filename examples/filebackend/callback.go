package filebackend

// Call implements driver.Caller: fn runs on a goroutine of its own.
func (s *stream) Call(fn func()) error {
	return s.enqueue(func() error { go fn(); return nil })
}
