package dl

// Step is one C call of a [Sequence]. Its result is a C int.
type Step struct {
	Proc   Proc // the zero Proc: the step is left out
	Args   [stepArgs]uintptr
	result uintptr
}

const stepArgs = 7

// Result is what the call returned when it was last made.
func (s *Step) Result() int32 { return int32(s.result) }

// Sequence is a series of C calls that begins some work, asks until the work is done, and then asks for its result. [Sequence.Run] makes
// them in one crossing from Go to C, because a crossing costs more than such calls themselves. The assembly relies on the order of the
// fields.
//
// C writes to what the arguments point to, so that has to be memory that does not move: see [Address].
type Sequence struct {
	Begin  Step    // made first
	Ask    Step    // made if Begin returned 0 or is left out: until it returns something else or *Flag is not 0, at most Rounds times
	Finish Step    // made if *Flag is not 0
	Flag   *int32  // what Ask sets when it is done
	Rounds uintptr // how often Ask may still be made; Run counts it down
}

// oneByOne is Run in Go, with a crossing for each call.
func (s *Sequence) oneByOne() {
	if s.Begin.Proc.Valid() && s.Begin.call() != 0 {
		return
	}
	for s.Rounds > 0 {
		s.Rounds--
		if s.Ask.call() != 0 {
			return
		}
		if *s.Flag != 0 {
			if s.Finish.Proc.Valid() {
				s.Finish.call()
			}
			return
		}
	}
}

func (s *Step) call() int32 {
	a := &s.Args
	s.result = s.Proc.Call7(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
	return s.Result()
}
