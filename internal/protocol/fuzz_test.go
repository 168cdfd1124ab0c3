package protocol

import "testing"

// FuzzMap reads actions of four bytes each: what, where, first byte, length.
func FuzzMap(f *testing.F) {
	f.Add([]byte{2, 1, 0, 63, 0, 0, 0, 63, 1, 2, 7, 9})
	f.Add([]byte{2, 1, 0, 10, 2, 2, 20, 10, 0, 3, 0, 63, 4, 3, 0, 63})
	f.Add([]byte{2, 0, 1, 0, 2, 0, 3, 0, 2, 0, 5, 0, 2, 0, 7, 0, 2, 0, 9, 0, 0, 1, 0, 63, 6, 1, 2, 3, 5, 0, 3, 3})
	f.Fuzz(func(t *testing.T, program []byte) {
		const size = 128
		o, m := newModel(size), NewMap(size)
		for ; len(program) >= 4; program = program[4:] {
			p := Place(program[1] % 6)
			lo := uint64(program[2]) % size
			hi := min(lo+1+uint64(program[3])%size, size)
			stop := int(program[1]/64) - 1
			var err error
			if a := Action(program[0] % (numActions + 1)); a < numActions {
				err = o.act(m, properly, a, p, lo, hi, nil, stop)
			} else {
				err = o.poison(m, p, lo, hi)
			}
			if err == nil {
				err = o.query(m, lo, hi)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
