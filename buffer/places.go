package buffer

import (
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// places are the places of a buffer: the host, and the devices that have used it. Each place has one replica, with memory or
// without. All handles of a device have the same place. With many devices, the place of a replica without memory is reused
// for another device.
type places struct {
	owner *storage
	devs  []*replica // replicas of devices: devs[0] is that of place 1
}

// replica returns the replica at a place.
func (ps *places) replica(p protocol.Place) *replica {
	if p == protocol.Host {
		return &ps.owner.host.replica
	}
	return ps.devs[p-1]
}

// each calls fn for every replica, until it returns false.
func (ps *places) each(fn func(*replica) bool) {
	if !fn(&ps.owner.host.replica) {
		return
	}
	for _, r := range ps.devs {
		if !fn(r) {
			return
		}
	}
}

// name returns the name of a place for errors. If stream is not nil, it is the name of the stream's device.
func (ps *places) name(p protocol.Place, stream *hal.Stream) string {
	switch {
	case stream != nil:
		return stream.Device().Name()
	case p == protocol.Host || int(p) > len(ps.devs):
		return "host"
	}
	return ps.devs[p-1].dev.Name()
}

// names lists places as "host, cuda:1".
func (ps *places) names(set protocol.Set) string {
	var names []string
	for p := range set.All() {
		names = append(names, ps.name(p, nil))
	}
	return strings.Join(names, ", ")
}

// of returns the replica of a device, with or without memory, or nil.
func (ps *places) of(dev *hal.Device) *replica {
	for _, r := range ps.devs {
		if r.dev == dev || r.dev.Same(dev) {
			return r
		}
	}
	return nil
}

// find returns the replica that a device uses, nil if it has none. For a nil device it returns the host's replica.
func (ps *places) find(dev *hal.Device) *replica {
	h := &ps.owner.host
	if dev == nil {
		return &h.replica
	}
	if r := ps.of(dev); r != nil {
		return r
	}
	if h.On(dev) != nil {
		return &h.replica
	}
	return nil
}

// settle returns the replica for work on the stream, and its memory. It makes the replica if there is none. The error is a resident.Pressure if there
// is no room, and an unready if work has to end first.
func (ps *places) settle(stream *hal.Stream, c cause) (*replica, *hal.Memory, error) {
	dev := layer.Common(stream.Device()) // a replica belongs to the device, whatever its handle
	r := ps.of(dev)
	if r == nil && layer.SharesHostMemory(dev) {
		h := &ps.owner.host
		m, err := ps.owner.shareHost(dev, c)
		if m != nil {
			err = h.UsedOn(stream, m)
		}
		if m != nil || err != nil {
			return &h.replica, m, err
		}
	}
	if r != nil && r.Mem != nil {
		if r.Leaving() {
			r.stay()
		}
		return r, r.Mem, nil
	}
	if r == nil {
		var err error
		if r, err = ps.add(dev); err != nil {
			return nil, nil, err
		}
	}
	if err := r.allocate(stream, c); err != nil {
		return nil, nil, err
	}
	return r, r.Mem, nil
}

// fewPlaces is the number of devices up to which every device that has used the buffer keeps its place, so that State lists all of them.
const fewPlaces = 8

// add returns a new replica of a device, without memory, at a place of its own: at a new place, or, if there are many places, at that of a replica without
// memory.
func (ps *places) add(dev *hal.Device) (*replica, error) {
	if len(ps.devs) >= fewPlaces {
		for i, r := range ps.devs {
			if r.Mem == nil {
				ps.devs[i] = ps.owner.newReplica(dev, r.place)
				return ps.devs[i], nil
			}
		}
	}
	if len(ps.devs)+1 >= protocol.MaxPlaces {
		return nil, hal.Errorf("use a device", hal.ErrUnsupported, "a buffer can have %d places for replicas, and all are in use", protocol.MaxPlaces)
	}
	r := ps.owner.newReplica(dev, protocol.Place(len(ps.devs)+1))
	ps.devs = append(ps.devs, r)
	return r, nil
}

func (s *storage) newReplica(dev *hal.Device, p protocol.Place) *replica {
	r := &replica{owner: s, place: p, dev: dev}
	r.Init(dev, r, s.size)
	return r
}

// cost ranks the sources of a copy to a device, the best first: a device whose memory the destination can access (1), the host (2),
// another device if no call has to wait for the copy (3), the host if work on its replica has to end first (4), any other device (5).
// For a copy to the host all devices are equal.
func (ps *places) cost(from, to protocol.Place) int {
	h, dst := &ps.owner.host, ps.replica(to).dev
	switch {
	case dst == nil:
		return 1
	case ps.replica(from).dev != nil:
		src := ps.replica(from).dev
		if dst.CanAccessPeer(src) {
			return 1
		}
		if !dst.Caps().Has(hal.CapGate) || !src.Caps().Has(hal.CapGate) {
			return 5
		}
		return 3
	case from == protocol.Host && h.order.Len() > 0 && !h.LockedFor(dst):
		return 4
	}
	return 2
}
