//go:build vulkan

package vulkan

// fifo is a queue of values. While it stays short it allocates nothing.
type fifo[T any] struct {
	all  []T
	head int // index of the oldest
}

// keptRoom is the most values for which an empty queue keeps room.
const keptRoom = 256

func (f *fifo[T]) len() int { return len(f.all) - f.head }

// first returns the oldest value. It may move when one is added.
func (f *fifo[T]) first() *T { return &f.all[f.head] }

func (f *fifo[T]) add(v T) {
	if len(f.all) == cap(f.all) && f.head > len(f.all)/2 {
		n := copy(f.all, f.all[f.head:])
		clear(f.all[n:])
		f.all, f.head = f.all[:n], 0
	}
	f.all = append(f.all, v)
}

// drop removes the oldest value.
func (f *fifo[T]) drop() {
	var none T
	f.all[f.head] = none // so that the garbage collector can free what it refers to
	f.head++
	if f.len() == 0 {
		f.all, f.head = f.all[:0], 0
		if cap(f.all) > keptRoom {
			f.all = nil
		}
	}
}
