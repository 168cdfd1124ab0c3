package dl_test

import (
	"slices"
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
)

// script is what the three functions of a sequence return, and what they were called with.
type script struct {
	begin, ask int32 // what they return
	askedAt    int   // the call of Ask, counted from 1, that sets the flag or returns ask
	flag       *int32
	log        []string
	args       [3][7]uintptr
}

var (
	played *script

	begin = dl.NewEntry12(func(a [dl.MaxArgs]uintptr) uintptr { return played.called(0, "begin", a, played.begin) })
	ask   = dl.NewEntry12(func(a [dl.MaxArgs]uintptr) uintptr {
		n := len(slices.DeleteFunc(slices.Clone(played.log), func(s string) bool { return s != "ask" })) + 1
		code := int32(0)
		if n == played.askedAt {
			code = played.ask
			if code == 0 {
				*played.flag = 1
			}
		}
		return played.called(1, "ask", a, code)
	})
	finish = dl.NewEntry12(func(a [dl.MaxArgs]uintptr) uintptr { return played.called(2, "finish", a, 33) })
)

// called notes a call, and returns a C int with other bits above it, which are undefined in C.
func (s *script) called(i int, name string, a [dl.MaxArgs]uintptr, code int32) uintptr {
	grow(200)
	s.log = append(s.log, name)
	copy(s.args[i][:], a[:])
	return uintptr(uint32(code)) | 1<<40
}

// grow makes the stack grow, and so move.
func grow(n int) byte {
	var pad [256]byte
	if n == 0 {
		return pad[0]
	}
	return grow(n-1) + pad[n%256]
}

func TestSequence(t *testing.T) {
	t.Run("one crossing", func(t *testing.T) { testSequence(t, (*dl.Sequence).Run) })
	t.Run("a crossing for each call", func(t *testing.T) { testSequence(t, (*dl.Sequence).RunOneByOne) })
}

func testSequence(t *testing.T, run func(*dl.Sequence)) {
	for _, row := range []struct {
		name     string
		script   script
		without  []string
		rounds   uintptr
		log      []string
		left     uintptr
		flag     int32
		answered [3]int32 // Result of each
	}{
		{"done at the first round", script{askedAt: 1}, nil, 3, []string{"begin", "ask", "finish"}, 2, 1, [3]int32{0, 0, 33}},
		{"done at the last round", script{askedAt: 3}, nil, 3, []string{"begin", "ask", "ask", "ask", "finish"}, 0, 1, [3]int32{0, 0, 33}},
		{"not done", script{askedAt: 4}, nil, 3, []string{"begin", "ask", "ask", "ask"}, 0, 0, [3]int32{}},
		{"no round", script{askedAt: 1}, nil, 0, []string{"begin"}, 0, 0, [3]int32{}},
		{"Begin fails", script{begin: -7}, nil, 3, []string{"begin"}, 3, 0, [3]int32{-7, 0, 0}},
		{"Ask fails", script{ask: 9, askedAt: 2}, nil, 3, []string{"begin", "ask", "ask"}, 1, 0, [3]int32{0, 9, 0}},
		{"without Begin", script{askedAt: 2}, []string{"begin"}, 3, []string{"ask", "ask", "finish"}, 1, 1, [3]int32{0, 0, 33}},
		{"without Finish", script{askedAt: 2}, []string{"finish"}, 3, []string{"begin", "ask", "ask"}, 1, 1, [3]int32{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &dl.Sequence{Rounds: row.rounds, Flag: new(int32)}
			steps := [3]*dl.Step{&s.Begin, &s.Ask, &s.Finish}
			var want [3][7]uintptr
			for i, entry := range [3]uintptr{begin, ask, finish} {
				name := [3]string{"begin", "ask", "finish"}[i]
				if slices.Contains(row.without, name) {
					continue
				}
				steps[i].Proc = dl.ProcAt(entry)
				for k := range steps[i].Args {
					steps[i].Args[k] = uintptr(i*100+k) | 1<<50
				}
				if slices.Contains(row.log, name) {
					want[i] = steps[i].Args
				}
			}
			played = &row.script
			played.flag = s.Flag
			run(s)
			if !slices.Equal(played.log, row.log) {
				t.Errorf("called %v, want %v", played.log, row.log)
			}
			if s.Rounds != row.left || *s.Flag != row.flag {
				t.Errorf("%d rounds are left and the flag is %d, want %d and %d", s.Rounds, *s.Flag, row.left, row.flag)
			}
			if played.args != want {
				t.Errorf("the arguments were %x, want %x", played.args, want)
			}
			for i, step := range steps {
				if step.Result() != row.answered[i] {
					t.Errorf("Result of step %d is %d, want %d", i, step.Result(), row.answered[i])
				}
			}
		})
	}
}

func TestSequenceDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector everything allocates")
	}
	labs := dl.Process().Proc("labs")
	if !labs.Valid() {
		t.Skip("the program has no labs to call")
	}
	s := &dl.Sequence{Flag: new(int32), Ask: dl.Step{Proc: labs}}
	if n := testing.AllocsPerRun(100, func() { s.Rounds = 3; s.Run() }); n != 0 {
		t.Errorf("%v allocations for a sequence", n)
	}
}
