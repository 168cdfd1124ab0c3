// Package parts lets package kernel divide a launch among several devices as one access, or make one access of several launches: nothing
// else uses the buffers between them. It also is what package kernel and package comm/part tell each other about launches that are divided
// among ranks. No program needs it, so package buffer does not export it.
package parts

import (
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

var functions = slot.OfBuffer.(slot.Buffer[buffer.Want, buffer.Leases, *buffer.Buffer[byte], coherence.Mode, hal.Region])

// Cover is [buffer.ReserveAll] without a stream: the leases exclude what those of ReserveAll would, and bring no bytes anywhere. The caller
// acquires parts of them ([Of]), releases the leases of all parts, and then those that Cover returned.
var Cover = functions.Cover

// Of returns the want for the elements from lo up to but not including hi of the i-th want of a cover, with a mode that the cover's mode
// includes. Elements beyond its end are left out. The leases of such a want do not wait for the cover and for each other, so parts that
// write must not overlap. For [buffer.Leases.Regions] it has the memory of all elements of the cover's want.
var Of = functions.Of

// Sub returns the want for the elements of w from lo up to but not including hi, with a mode of its own. Elements beyond its end are left out.
// For [buffer.Leases.Regions] it has the memory of all elements of w.
var Sub = functions.Sub

// Under returns w as a part of the i-th want of a cover, as Of does. That want must be of the same buffer, and have all elements of w.
var Under = functions.Under

// InTurn returns one want for each buffer, for launches that come one after the other. An element that is overwritten before any launch reads
// it is not copied. which[i] is the buffer of access i, counted through all lists; place[i] is its range in the region of that buffer. For a
// want of Sub, place has the range of the want that Sub was given.
var InTurn = functions.InTurn

// Key returns the key for the launches of leases (layer.How), which are enqueued next. If the driver knows which launch has failed, what the
// leases write is lost only if one of these launches fails, and not if another one on the stream does.
var Key = functions.Key

// Copied reports whether bytes were copied for leases from another place, while they were acquired.
var Copied = functions.Copied

// Mark ties the leases to the work that was enqueued last on their stream: if it fails, what they write is lost, whatever is enqueued later.
// That is needed unless layer.KeepsFailures.
var Mark = functions.Mark
