//go:build vulkan

package vulkan

// fifo is a queue of values. While it stays short it allocates nothing.
type fifo[T any] struct {
	all  []T
	from int // index of the oldest
}

// keptRoom is the most values for which an empty queue keeps room.
const keptRoom = 256

func (f *fifo[T]) len() int { return len(f.all) - f.from }

// first returns the oldest value. It may move when one is added.
func (f *fifo[T]) first() *T { return &f.all[f.from] }

func (f *fifo[T]) add(v T) {
	if len(f.all) == cap(f.all) && f.from > len(f.all)/2 {
		n := copy(f.all, f.all[f.from:])
		clear(f.all[n:])
		f.all, f.from = f.all[:n], 0
	}
	f.all = append(f.all, v)
}

// drop removes the oldest value.
func (f *fifo[T]) drop() {
	var none T
	f.all[f.from] = none // so that the garbage collector can free what it refers to
	f.from++
	if f.len() == 0 {
		f.all, f.from = f.all[:0], 0
		if cap(f.all) > keptRoom {
			f.all = nil
		}
	}
}
