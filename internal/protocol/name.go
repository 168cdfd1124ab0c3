package protocol

import "strconv"

// Name is a view of a [State] in the words of systems that know one host and one device. Every state has exactly one name.
type Name uint8

const (
	// Uninitialized: no place is valid, because nothing was written or it was reset.
	Uninitialized Name = iota
	// HostOnly: the host is valid and no device has memory.
	HostOnly
	// DeviceOnly: at least one device is valid and the host has no memory.
	DeviceOnly
	// Synchronized: the host is valid, at least one device has memory, and every device that has memory is valid.
	Synchronized
	// HostDirty: the host is valid and at least one device has memory that is stale.
	HostDirty
	// DeviceDirty: at least one device is valid and the host has memory that is stale.
	DeviceDirty

	numNames = iota
)

var stateNames = [numNames]string{"UNINITIALIZED", "HOST_ONLY", "DEVICE_ONLY", "SYNCHRONIZED", "HOST_DIRTY", "DEVICE_DIRTY"}

// Names lists every name in the order of their definition.
func Names() []Name {
	return []Name{Uninitialized, HostOnly, DeviceOnly, Synchronized, HostDirty, DeviceDirty}
}

// String returns the name in capitals: "HOST_DIRTY".
func (n Name) String() string {
	if int(n) < len(stateNames) {
		return stateNames[n]
	}
	return "Name(" + strconv.Itoa(int(n)) + ")"
}

// Name returns the classic name of the state.
func (s State) Name() Name {
	devices := s.Allocated.Without(Host)
	switch {
	case s.Valid == 0:
		return Uninitialized
	case !s.Valid.Has(Host) && s.Allocated.Has(Host):
		return DeviceDirty
	case !s.Valid.Has(Host):
		return DeviceOnly
	case devices == 0:
		return HostOnly
	case devices&^s.Valid != 0:
		return HostDirty
	}
	return Synchronized
}
