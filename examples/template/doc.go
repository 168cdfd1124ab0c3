// Package template is a small, complete backend that is meant to be copied. docs/guide/writing-a-backend.md
// says how, step by step.
//
// It passes the conformance suite as it is, on two simulated devices whose memory is memory of this process.
// A copy is turned into a real backend one file at a time, and the suite is run after each:
//
//	vendor.go    the pretend vendor's library: replaced by calls of the real one
//	errors.go    what each status of the vendor means
//	backend.go   which devices there are
//	device.go    what a device can do
//	memory.go    allocating, freeing, reaching bytes
//	copy.go      copies and fills
//	stream.go    order: replaced by the vendor's queues, if it has them
//	event.go     points in that order
//	gate.go      optional: CapGate
//	callback.go  optional: CapHostCallback
//
// The package imports hal/driver and the standard library, and so can be copied to any module. Each method says what
// it has to guarantee. The comment of package hal/driver says what a method need not check, because package hal has
// checked it. Lines marked REPLACE are those that a copy changes first.
package template
