package simgpu

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// textSize is HALYARD_SIM_TEXT of src/sim.h.
const textSize = 256 << 10

// Control is the control interface of one simulated library. src/sim.h describes it. All methods
// are safe for concurrent use. None may be called from a host callback of the simulated driver.
type Control struct{ fn functions }

type functions struct {
	Version    dl.Proc `sym:"halyard_sim_version"`
	Name       dl.Proc `sym:"halyard_sim_name"`
	Reset      dl.Proc `sym:"halyard_sim_reset"`
	Set        dl.Proc `sym:"halyard_sim_set"`
	FailCall   dl.Proc `sym:"halyard_sim_fail_call"`
	FailAlloc  dl.Proc `sym:"halyard_sim_fail_alloc"`
	Sticky     dl.Proc `sym:"halyard_sim_sticky"`
	Lose       dl.Proc `sym:"halyard_sim_lose"`
	LoseAt     dl.Proc `sym:"halyard_sim_lose_at"`
	PeerAccess dl.Proc `sym:"halyard_sim_link"`
	CallCount  dl.Proc `sym:"halyard_sim_call_count"`
	Calls      dl.Proc `sym:"halyard_sim_calls"`
	Bytes      dl.Proc `sym:"halyard_sim_bytes"`
	Violations dl.Proc `sym:"halyard_sim_violations"`
	Clear      dl.Proc `sym:"halyard_sim_clear"`
	Leaks      dl.Proc `sym:"halyard_sim_leaks"`
	HostAccess dl.Proc `sym:"halyard_sim_host_access"`
	Step       dl.Proc `sym:"halyard_sim_step"`
	Hold       dl.Proc `sym:"halyard_sim_hold"`
}

// Attach returns the control of the simulated library at path, which must be the path or file that
// the program under test loads or links. Attach loads the library if it is not loaded yet. It
// returns an error if the library cannot be loaded or is not a simulation.
func Attach(path string) (*Control, error) {
	lib, err := dl.Open("", path)
	if err != nil {
		return nil, err
	}
	c := &Control{}
	if _, err := lib.Fill(&c.fn); err != nil {
		return nil, fmt.Errorf("simgpu: not a simulated driver: %w", err)
	}
	return c, nil
}

// Version returns the version of the control interface.
func (c *Control) Version() int { return int(int32(c.fn.Version.Call0())) }

// Name returns the name of the simulation: "simulated CUDA driver" or "simulated HIP driver".
func (c *Control) Name() string { return dl.GoString(c.fn.Name.Call0()) }

// Reset forgets everything, applies the settings made by Set, and starts the scheduler from the
// seed. Handles made before are refused from now on. Threads that wait inside the driver return
// with CUDA's or HIP's "deinitialised". Reset fails if a host callback does not end.
func (c *Control) Reset(seed uint64) error {
	if int32(c.fn.Reset.Call1(uintptr(seed))) != 0 {
		return fmt.Errorf("simgpu: the simulated driver could not be reset: a host callback is running, or memory is short")
	}
	return nil
}

// Setting is the name of a setting, for Set.
type Setting string

// The settings. The first four take effect at the next Reset, the others at once.
const (
	Devices    Setting = "devices"     // number of devices, 0 to 16
	Memory     Setting = "memory"      // bytes of memory of each device
	HostMemory Setting = "host_memory" // bytes of page-locked and managed memory
	Without    Setting = "without"     // abilities that the devices lack: a sum of values of Lack
	Free       Setting = "free"        // 1: work costs nothing and moves no bytes
	Validate   Setting = "validate"    // 0: no race detection
	LinkRate   Setting = "link"        // as the method PeerAccess
	Pageable   Setting = "pageable"    // as halyard_sim_pageable of src/sim.h: bytes per millisecond, on a limited link
)

// Lack is an ability that simulated devices can lack, for the setting Without.
type Lack uint64

// The abilities that a device may lack.
const (
	LackPeer Lack = 1 << iota
	LackPools
	LackWaitValue
	LackManaged
	LackConcurrentManaged
	LackHostRegister
	LackRegisteredPointer // registered memory has another address on the device
	LackPriorities
	LackHostFunc
	LackIPC
	LackPrefetch
	LackMemInfo
	LackAnswers        // the UUID, the bus address and the attribute for waiting on a word are not supported
	LackAlignment      // addresses of allocations are odd multiples of 16
	LackAddress        // allocations report success and give a null pointer
	LackPointerQuery   // attributes of an address are not supported
	LackHostLaunch     // cuLaunchHostFunc and hipLaunchHostFunc are not supported; stream callbacks are
	LackDiscreteMemory // devices say that they are integrated
	LackFreshEvents    // an event that was never recorded is not ready, for ever
)

// Set changes a setting. The error names a setting or value that does not exist.
func (c *Control) Set(s Setting, value uint64) error {
	name := dl.CString(string(s))
	if int32(c.fn.Set.Call2(uintptr(unsafe.Pointer(&name[0])), uintptr(value))) != 0 {
		return fmt.Errorf("simgpu: no setting %q of %d", s, value)
	}
	return nil
}

// FailCall makes the n-th driver call from now on (1 is the next) fail with the code, once. The
// failing call has no effect, except that a call that releases something does release it. FailCall
// with n = 0 cancels the plan.
func (c *Control) FailCall(n uint64, code int) { c.fn.FailCall.Call2(uintptr(n), uintptr(code)) }

// FailAlloc makes the n-th allocation or registration from now on find no memory, once. FailAlloc
// with n = 0 cancels the plan.
func (c *Control) FailAlloc(n uint64) { c.fn.FailAlloc.Call1(uintptr(n)) }

// Sticky puts all devices that have a context into a sticky error: their unfinished work is
// dropped, and every later call fails with the code until the context is destroyed.
func (c *Control) Sticky(code int) { c.fn.Sticky.Call2(^uintptr(0), uintptr(code)) }

// StickyOn is Sticky for one device.
func (c *Control) StickyOn(device, code int) error {
	if int32(c.fn.Sticky.Call2(uintptr(device), uintptr(code))) != 0 || device < 0 {
		return fmt.Errorf("simgpu: no simulated device %d", device)
	}
	return nil
}

// Lost removes a device until the next Reset: every call that concerns the device fails with 719,
// launch failed.
func (c *Control) Lost(device int) error {
	if int32(c.fn.Lose.Call1(uintptr(device))) != 0 {
		return fmt.Errorf("simgpu: no simulated device %d", device)
	}
	return nil
}

// LostAt removes a device as Lost does, at the n-th driver call from now on; 1 is the next. n = 0 cancels the plan.
func (c *Control) LostAt(device int, n uint64) error {
	if int32(c.fn.LoseAt.Call2(uintptr(device), uintptr(n))) != 0 {
		return fmt.Errorf("simgpu: no simulated device %d", device)
	}
	return nil
}

// PeerAccess limits the rate of copies between the host and devices, and between devices, to so
// many bytes in a millisecond; 0 is without limit.
func (c *Control) PeerAccess(bytesPerMilli uint64) { c.fn.PeerAccess.Call1(uintptr(bytesPerMilli)) }

// CallCount returns the number of driver calls since the last Reset that FailCall counts. It counts
// all calls except those that only name errors or find symbols, and questions for work that is not done.
func (c *Control) CallCount() uint64 { return uint64(c.fn.CallCount.Call0()) }

// Calls returns the number of driver calls since the last Reset, by name.
func (c *Control) Calls() map[string]int {
	calls := make(map[string]int)
	for _, line := range c.lines(c.fn.Calls) {
		name, count, _ := strings.Cut(line, " ")
		calls[name], _ = strconv.Atoi(count)
	}
	return calls
}

// Bytes returns the number of bytes that copies and fills have moved since the last Reset.
func (c *Control) Bytes() uint64 { return uint64(c.fn.Bytes.Call0()) }

// Violations returns the driver's rules that the program has broken since the last Reset or Clear,
// each once. A real driver may tolerate such calls. They are: calls with no current context or the
// wrong one, with handles of another device or of destroyed objects, and with ranges out of bounds;
// unordered uses of the same bytes; freeing memory and unloading code that unfinished work uses;
// driver calls in host callbacks.
func (c *Control) Violations() []string { return c.lines(c.fn.Violations) }

// Clear forgets the violations.
func (c *Control) Clear() { c.fn.Clear.Call0() }

// Leaks returns the handles that are alive: memory, registered ranges, streams, events, modules,
// contexts.
func (c *Control) Leaks() []string { return c.lines(c.fn.Leaks) }

// HostAccess tells the validator that the host now reads or writes n bytes at ptr. It returns the
// number of violations that this access causes.
func (c *Control) HostAccess(ptr unsafe.Pointer, n uint64, write bool) int {
	var w uintptr
	if write {
		w = 1
	}
	return int(int32(c.fn.HostAccess.Call3(uintptr(ptr), uintptr(n), w)))
}

// Step runs at most n steps of the work that streams and events allow, in the scheduler's order,
// and returns how many it ran.
func (c *Control) Step(n uint64) uint64 { return uint64(c.fn.Step.Call1(uintptr(n))) }

// Hold stops or resumes the background thread, which runs work while no host thread waits for it.
// Reset resumes it.
func (c *Control) Hold(on bool) {
	var v uintptr
	if on {
		v = 1
	}
	c.fn.Hold.Call1(v)
}

func (c *Control) lines(fn dl.Proc) []string {
	buf := make([]byte, textSize)
	n := fn.Call2(uintptr(unsafe.Pointer(&buf[0])), textSize)
	if n == 0 {
		return nil
	}
	text, _, _ := strings.Cut(string(buf), "\x00")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
