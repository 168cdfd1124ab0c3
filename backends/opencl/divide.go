//go:build opencl

package opencl

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/siglib"
)

// mostParts is the largest value of Options.Parts.
const mostParts = 64

// validParts returns an error if Options.Parts is not 0 and not a number of parts.
func (o Options) validParts() error {
	if o.Parts != 0 && (o.Parts < 2 || o.Parts > mostParts) {
		return refusal("divide devices", -1, driver.ErrInvalidArgument, "Options.Parts is %d; it must be 0, or from 2 to %d", o.Parts, mostParts)
	}
	return nil
}

// division is the parts of one device, or the reason why there are none.
type division struct {
	parts []*hardware
	why   string
}

// divided returns the parts of all devices in place of the devices, and the reasons why others are missing.
func (l *library) divided(whole []*hardware, n int) (parts []*hardware, problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range whole {
		d, known := h.divisions[n]
		if !known {
			d = h.divide(n)
			if h.divisions == nil {
				h.divisions = map[int]division{}
			}
			h.divisions[n] = d
		}
		parts = append(parts, d.parts...)
		if d.why != "" {
			problems = append(problems, d.why)
		}
	}
	return parts, problems
}

// divide makes sub-devices of n parts, whose numbers of compute units differ by one at most (OpenCL 1.2, section 4.3). They are
// kept for as long as the process runs, as the device itself is.
func (h *hardware) divide(n int) division {
	siglib.Enter()
	defer siglib.Leave()
	cannot := func(why string, args ...any) division {
		return division{why: fmt.Sprintf("%s is not divided into %d parts: %s", h.name, n, fmt.Sprintf(why, args...))}
	}
	f := about(h.t.getDeviceInfo, h.id)
	units := int(f.number(deviceMaxUnits))
	if units < n {
		return cannot("it has %d compute units", units)
	}
	// Asked first, since the call is null in Mesa's Rusticl, whose devices cannot be divided.
	if ways := f.bytes(devicePartitions); !slices.Contains(f.sizes(devicePartitions, len(ways)/wordSize), partitionByCounts) {
		return cannot("the device cannot be divided by counts of compute units")
	}
	split := []uintptr{partitionByCounts}
	for i := range n {
		split = append(split, uintptr(units*(i+1)/n-units*i/n))
	}
	ids := make([]uintptr, n)
	st := h.t.createSubDevices(h.id, append(split, 0, 0), ids)
	if st != success {
		return cannot("clCreateSubDevices returns %v", failure("divide devices", -1, "clCreateSubDevices", st))
	}
	var d division
	for i, id := range ids {
		part, why := describe(h.t, h.platform, id, h.usmCalls)
		if why != "" {
			return cannot("part %d: %s", i+1, why)
		}
		// The vendors give each part the UUID of the whole.
		part.uuid = driver.UUID{}
		part.name = fmt.Sprintf("%s (part %d of %d; they share its memory)", part.name, i+1, n)
		d.parts = append(d.parts, part)
	}
	return d
}
