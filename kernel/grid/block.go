package grid

// Whole are the types of integers.
type Whole interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Real are the types of numbers that have an order.
type Real interface{ Whole | ~float32 | ~float64 }

// Arithmetic are the types of numbers.
type Arithmetic interface {
	Real | ~complex64 | ~complex128
}

// groupSize is how many threads a group has.
const groupSize = 32

// rank returns the thread's number in its block.
func (t Thread) rank() int { return (t.Local(2)*t.Size(1)+t.Local(1))*t.Size(0) + t.Local(0) }

// GroupLane returns the thread's number in its group. A group is 32 threads of a block with consecutive numbers, where threads are numbered
// along dimension 0 first, then along 1, then along 2. The last group of a block may have fewer threads.
func GroupLane(t Thread) int { return t.rank() % groupSize }

// BlockSum returns the sum of the values of all threads of the block. All threads of a block must come to the same call, as to
// [Thread.Barrier], and all have the result. The call is a statement of its own, such as v := grid.BlockSum(t, x[i]), and a block has at most
// 1024 threads. This holds for every function here whose name begins with Block or Group, except [GroupLane].
//
// The order is fixed, so that floats have the same bits on every device. Threads are numbered from 0, along dimension 0 first, then along
// 1, then along 2. For d = 1, 2, 4 and so on, the value of each thread n that is a multiple of 2*d becomes the sum of its value and that of
// thread n+d. If there is no thread n+d, the value stays. The result is the value of thread 0. All functions that combine values have this
// order.
func BlockSum[T Arithmetic](t Thread, v T) T { return all(t, v, add) }

// BlockMin returns the least value, as Go's min does.
func BlockMin[T Real](t Thread, v T) T { return all(t, v, least) }

// BlockMax returns the largest value, as Go's max does.
func BlockMax[T Real](t Thread, v T) T { return all(t, v, most) }

// BlockAnd returns the bits that are set in all values.
func BlockAnd[T Whole](t Thread, v T) T { return all(t, v, and) }

// BlockOr returns the bits that are set in any value.
func BlockOr[T Whole](t Thread, v T) T { return all(t, v, or) }

// BlockReduce combines the values by a function that the package of the kernel declares, in the order of [BlockSum]: f's first argument is
// the value of the threads with the lower numbers. So it works for structures as well, such as a value with its place, and for numbers of
// 16 bits.
func BlockReduce[T any](t Thread, v T, f func(T, T) T) T { return all(t, v, f) }

// BlockAny reports whether a condition is true for a thread of the block.
func BlockAny(t Thread, condition bool) bool { return all(t, condition, either) }

// BlockAll reports whether a condition is true for all threads of the block.
func BlockAll(t Thread, condition bool) bool { return all(t, condition, both) }

// BlockCount returns for how many threads of the block a condition is true.
func BlockCount(t Thread, condition bool) int { return all(t, number(condition), add) }

// BlockScan returns the sum of the values of the threads up to this one. It is what [BlockSum] would return if the block had no threads
// after this one.
func BlockScan[T Arithmetic](t Thread, v T) T { return upTo(t, v, 0) }

// BlockExclusiveScan returns the sum of the values of the threads before this one, which is what [BlockScan] returns to the thread before.
// For thread 0 it is 0.
func BlockExclusiveScan[T Arithmetic](t Thread, v T) T { return before(t, v, 0) }

// BlockBroadcast returns the value of the thread with the number from, which must be less than the number of threads. It may differ between
// threads.
func BlockBroadcast[T any](t Thread, v T, from int) T { return together(t, v)[from] }

// GroupSum returns the sum of the values of the thread's group: see [GroupLane]. The order is that of [BlockSum].
func GroupSum[T Arithmetic](t Thread, v T) T { return inGroup(t, v, add) }

// GroupMin returns the least value of the group, as Go's min does.
func GroupMin[T Real](t Thread, v T) T { return inGroup(t, v, least) }

// GroupMax returns the largest value of the group, as Go's max does.
func GroupMax[T Real](t Thread, v T) T { return inGroup(t, v, most) }

// GroupAnd returns the bits that are set in all values of the group.
func GroupAnd[T Whole](t Thread, v T) T { return inGroup(t, v, and) }

// GroupOr returns the bits that are set in any value of the group.
func GroupOr[T Whole](t Thread, v T) T { return inGroup(t, v, or) }

// GroupReduce combines the values of the group as [BlockReduce] does those of the block.
func GroupReduce[T any](t Thread, v T, f func(T, T) T) T { return inGroup(t, v, f) }

// GroupAny reports whether a condition is true for a thread of the group.
func GroupAny(t Thread, condition bool) bool { return inGroup(t, condition, either) }

// GroupAll reports whether a condition is true for all threads of the group.
func GroupAll(t Thread, condition bool) bool { return inGroup(t, condition, both) }

// GroupCount returns for how many threads of the group a condition is true.
func GroupCount(t Thread, condition bool) int { return inGroup(t, number(condition), add) }

// GroupBallot returns the bits of the lanes for which a condition is true: the lowest bit is that of lane 0.
func GroupBallot(t Thread, condition bool) uint32 {
	return inGroup(t, uint32(number(condition))<<GroupLane(t), or)
}

// GroupScan returns the sum of the values of the lanes up to this one, as [BlockScan] does for the block.
func GroupScan[T Arithmetic](t Thread, v T) T { return upTo(t, v, t.rank()-GroupLane(t)) }

// GroupExclusiveScan returns the sum of the values of the lanes before this one. For lane 0 it is 0.
func GroupExclusiveScan[T Arithmetic](t Thread, v T) T { return before(t, v, t.rank()-GroupLane(t)) }

// GroupShuffle returns the value of a lane of the group. Only the lowest 5 bits of the lane's number count. If the group has no such
// thread, it returns the thread's own value.
func GroupShuffle[T any](t Thread, v T, lane int) T {
	values, at := together(t, v), t.rank()-GroupLane(t)+lane&(groupSize-1)
	if at >= len(values) {
		return v
	}
	return values[at]
}

// GroupShuffleXor returns the value of the lane whose number differs from this one's in the bits of the mask. It is [GroupShuffle] of that
// number.
func GroupShuffleXor[T any](t Thread, v T, mask int) T { return GroupShuffle(t, v, GroupLane(t)^mask) }

func add[T Arithmetic](a, b T) T { return a + b }
func least[T Real](a, b T) T     { return min(a, b) }
func most[T Real](a, b T) T      { return max(a, b) }
func and[T Whole](a, b T) T      { return a & b }
func or[T Whole](a, b T) T       { return a | b }
func either(a, b bool) bool      { return a || b }
func both(a, b bool) bool        { return a && b }

func number(condition bool) int {
	if condition {
		return 1
	}
	return 0
}

// together returns the values that all threads of the block have come with, by their numbers.
func together[T any](t Thread, v T) []T {
	m := t.in.own
	if m == nil {
		panic("grid: a kernel that calls a function of its block or group needs RunTogether")
	}
	c := m.crew
	c.sharing.Lock()
	if m.combines++; m.combines > c.combines {
		c.combines, c.combined = m.combines, make([]T, t.Size(0)*t.Size(1)*t.Size(2))
	}
	values, same := c.combined.([]T)
	c.sharing.Unlock()
	if same { // if not, the threads are at different calls, which the barrier reports
		values[t.rank()] = v
	}
	m.wait("github.com/go-halyard/halyard/kernel/grid.Block", "github.com/go-halyard/halyard/kernel/grid.Group")
	return values
}

// combine combines values in the order of [BlockSum].
func combine[T any](values []T, f func(T, T) T) T {
	if len(values) == 1 {
		return values[0]
	}
	d := 1
	for 2*d < len(values) {
		d *= 2
	}
	return f(combine(values[:d], f), combine(values[d:], f))
}

// all combines the values of the block.
func all[T any](t Thread, v T, f func(T, T) T) T { return combine(together(t, v), f) }

// inGroup combines the values of the thread's group.
func inGroup[T any](t Thread, v T, f func(T, T) T) T {
	values, first := together(t, v), t.rank()-GroupLane(t)
	return combine(values[first:min(first+groupSize, len(values))], f)
}

// upTo combines the values of the threads from a first one up to t.
func upTo[T Arithmetic](t Thread, v T, first int) T {
	return combine(together(t, v)[first:t.rank()+1], add)
}

// before combines the values of the threads from a first one up to the one before t.
func before[T Arithmetic](t Thread, v T, first int) (sum T) {
	if values := together(t, v)[first:t.rank()]; len(values) > 0 {
		sum = combine(values, add)
	}
	return sum
}
