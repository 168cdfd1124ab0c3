package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

// If a stream has forgotten errors, it reports one that it remembers, and says that it has forgotten some only if it remembers none.
func TestForgottenFaults(t *testing.T) {
	const failed = faultsMost + 6
	var f faults
	errs := make([]error, failed+1)
	for n := 1; n <= failed; n++ {
		errs[n] = errors.New("operation failed")
		f.add(fault{n: uint64(n), err: errs[n]})
	}
	var d device
	for _, c := range []struct {
		from, to uint64
		want     int // the operation whose error is reported, 0 for none that is remembered
	}{{0, failed, 7}, {3, failed, 7}, {6, failed, 7}, {0, 7, 7}, {40, failed, 41}, {0, 6, 0}, {2, 3, 0}} {
		err := f.between(&d, c.from, c.to)
		switch {
		case c.want != 0 && err != errs[c.want]:
			t.Errorf("(%d, %d]: got %v, want the error of operation %d", c.from, c.to, err, c.want)
		case c.want == 0 && (!errors.Is(err, driver.ErrKernel) || !strings.Contains(err.Error(), "remembers only")):
			t.Errorf("(%d, %d]: got %v, want an error that says what is missing", c.from, c.to, err)
		}
	}
	if err := f.between(&d, failed, failed+5); err != nil {
		t.Errorf("operations that have not failed: %v", err)
	}
}
