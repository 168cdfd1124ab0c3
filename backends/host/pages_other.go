//go:build !linux && !darwin && !windows

package host

import (
	"errors"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/span"
)

// canLock says whether the system can lock pages.
const canLock = false

func adviseHuge([]byte)            {}
func lockPages(span.Range) error   { return errors.ErrUnsupported }
func unlockPages(span.Range) error { return nil }
func lockLimit() (uint64, bool)    { return 0, false }

// memoryNow returns the free and the total bytes of memory; ok reports whether free is known.
func memoryNow() (free, total uint64, ok bool) { return 0, 0, false }

func processorName() string { return "" }

func vendorOf(error) driver.Vendor { return driver.Vendor{} }
