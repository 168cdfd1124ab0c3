package commtest

import (
	"github.com/go-halyard/halyard/internal/comm/bugs"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// reduce is [driver.Combine], with the mistakes of a broken job.
func reduce(acc, more []byte, t driver.Type, op driver.Op, bug bugs.Bug) {
	if bug == bugs.ReducesUnsigned && t <= driver.Int64 {
		t += driver.Uint8 - driver.Int8
	}
	if bug == bugs.ReducesHalf {
		half := uint64(len(acc)) / t.Size() / 2 * t.Size()
		acc, more = acc[half:], more[half:]
	}
	if bug == bugs.Saturates && t == driver.Uint8 && op == driver.Sum {
		for i := range acc {
			acc[i] = uint8(min(int(acc[i])+int(more[i]), 255))
		}
		return
	}
	driver.Combine(acc, more, t, op)
}
