package main

import "slices"

// edit replaces a text, which a file has once.
type edit struct{ file, old, new string }

// mutant is a copy of examples/template with one fault.
type mutant struct {
	name  string
	by    string // the check that finds the fault, which is run first
	edits []edit

	hangs      bool   // a check does not come back
	equivalent string // why no program can tell the difference, if so
	missed     string // why the suite does not find the fault, if it does not
}

// mutants are named after the method and what is wrong with it.
var mutants = slices.Concat(ofDevice, ofCopy, ofStream, ofEvent)

// The texts below are parts of several faults.
var (
	streamFile  = "stream.go"
	everyStream = edit{streamFile, "type task struct {", "var everyStream sync.Map\n\ntype task struct {"}
	keepStreams = edit{streamFile, "	return &stream{dev: d}, nil", "	s := &stream{dev: d}\n	everyStream.Store(s, true)\n	return s, nil"}

	// now does the work in the call.
	now = edit{streamFile, "type task struct {", `func now(s *stream, op string, run func() error) error {
	if err := s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); err != nil {
		return err
	}
	return run()
}

type task struct {`}
	nowIf = edit{streamFile, now.old, `func nowIf(early bool, s *stream, op string, run func() error) error {
	if !early {
		return s.enqueue(op, run)
	}
	return now(s, op, run)
}

` + now.new}
	// late does it after the next work.
	late = edit{streamFile, "type task struct {", `func late(s *stream, op string, run func() error) error {
	p := &point{done: make(chan struct{})}
	if err := s.enqueue(op, func() error { go func() { <-p.done; _ = run() }(); return nil }); err != nil {
		return err
	}
	return s.enqueue(op, func() error { close(p.done); return nil })
}

type task struct {`}
	// aside does it on a stream of its own.
	aside = edit{streamFile, "type task struct {", `func aside(s *stream, op string, run func() error) error {
	return (&stream{dev: s.dev}).enqueue(op, run)
}

type task struct {`}
	// waiting waits for it.
	waiting = edit{streamFile, "type task struct {", `func waiting(s *stream, op string, run func() error) error {
	if err := s.enqueue(op, run); err != nil {
		return err
	}
	<-s.here().done
	return nil
}

type task struct {`}
)

// leavesOut makes events ignore work of one kind, if nothing was enqueued after it.
func leavesOut(op string) []edit {
	return []edit{
		{streamFile, "	s.queue, s.last = append(s.queue, t), t.after", "	if op != \"" + op + "\" {\n		s.seen = t.after\n	}\n	s.queue, s.last = append(s.queue, t), t.after"},
		{streamFile, "	running bool\n", "	running bool\n	seen *point\n"},
		{streamFile, "	e.(*event).set(s.here())\n", "	s.mu.Lock()\n	p := s.seen\n	if p == nil {\n		p = &point{done: make(chan struct{})}\n		s.pass(p)\n	}\n	s.mu.Unlock()\n	e.(*event).set(p)\n"},
	}
}
