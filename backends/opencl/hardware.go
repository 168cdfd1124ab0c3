//go:build opencl

package opencl

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/llvmpipe"
)

// pocl is the name of PoCL's platform.
const pocl = "Portable Computing Language"

// hardware is what one device reported about itself.
type hardware struct {
	t        *table
	platform *platform
	id       uintptr
	problem  string // why other devices of its platform are not listed, or ""; set in the platform's first device

	callbacksTried sync.Once   // runs tryCallback when the device is first opened
	noCallbacks    atomic.Bool // the device refuses host callbacks

	name, vendor, driver, platformText string
	major, minor                       int
	uuid                               driver.UUID
	pci                                string
	total, maxAlloc, align             uint64
	class                              driver.Class
	unified, cpu, emulated             bool
	freeMemory                         bool // it reports its free memory
	deviceAddress                      bool // the device may pass addresses of buffers to kernels
	timer                              bool // its time stamps can be used
	blocking                           bool // clFlush returns only when the work is done
	unifiedSVM                         bool // cl_khr_unified_svm
	takesAny                           bool // arguments of kernels are set to USM as to any address of the process
	cutsStructs                        bool // it expects the size of a structure without the padding at its end

	tiers      tiers
	usm        *usmTable
	usmShared  uint64 // capabilities of shared memory
	usmSystem  uint64
	svm        uint64
	svmMigrate bool

	version  string                                               // CL_DEVICE_VERSION
	compiler bool                                                 // it compiles OpenCL C
	linker   bool                                                 // it compiles with headers and links
	createIL func(context uintptr, code []byte) (uintptr, status) // nil if it takes no SPIR-V
	compute  driver.Compute
}

// describe queries a device. If the device cannot be used, it returns nil and the reason.
func describe(t *table, p *platform, id uintptr, usm func() *usmTable) (*hardware, string) {
	f := factsOf(t.getDeviceInfo, id)
	h := &hardware{
		t: t, platform: p, id: id,
		name: f.text(deviceName), vendor: f.text(deviceVendor), driver: f.text(driverVersion),
		total: f.number(deviceGlobalMemSize), maxAlloc: f.number(deviceMaxAlloc),
		align: f.number(deviceBaseAddrAlign) / 8,
	}
	if name := p.name.Load(); name != nil {
		h.platformText = *name
	}
	if h.platformText == "Oclgrind" {
		// Oclgrind 21.10 is not safe for calls from several threads. Its calls that flush or wait for a queue execute the
		// queue's work themselves, and the work of every queue that this queue waits for, before they return.
		h.blocking, h.t = true, t.locked()
	}
	// Rusticl of Mesa 22.3 returns numbers from 0 to 3 as time stamps, and 0 as the resolution of its timer. For a
	// structure it expects the size of the argument without the padding at the end.
	h.cutsStructs = strings.EqualFold(h.platformText, "rusticl")
	h.timer = f.number(deviceTimerResolution) != 0
	h.version = f.text(deviceVersion)
	version := h.version
	if _, err := fmt.Sscanf(version, "OpenCL %d.%d", &h.major, &h.minor); err != nil || !h.atLeast(1, 2) {
		return nil, fmt.Sprintf("%s reports version %q; OpenCL 1.2 or later is required", h.name, version)
	}
	if f.number(deviceAvailable) == 0 {
		return nil, h.name + " is not available now"
	}
	if h.align == 0 || h.align&(h.align-1) != 0 {
		h.align = 128 // the size of the largest type, long16
	}
	switch kind := f.number(deviceType); {
	case kind&deviceTypeCPU != 0:
		h.class = driver.ClassCPU
	case kind&deviceTypeGPU != 0:
		h.class = driver.ClassGPU
	default:
		h.class = driver.ClassAccelerator
	}
	h.cpu = h.class == driver.ClassCPU
	h.unified = h.cpu || f.number(deviceHostUnified) != 0
	h.emulated = strings.Contains(strings.ToLower(h.name), "emulat") || strings.Contains(strings.ToLower(h.name), "simulat")

	extensions := map[string]bool{}
	for _, e := range strings.Fields(f.text(deviceExtensions)) {
		extensions[e] = true
	}
	h.unifiedSVM = extensions["cl_khr_unified_svm"]
	h.freeMemory = extensions["cl_amd_device_attribute_query"]
	h.deviceAddress = extensions["cl_ext_buffer_device_address"]
	if extensions["cl_khr_device_uuid"] {
		copy(h.uuid[:], f.bytes(deviceUUID))
	}
	if extensions["cl_khr_pci_bus_info"] {
		if w := f.words(devicePCIBusInfo, 4); w != nil {
			h.pci = fmt.Sprintf("%04x:%02x:%02x.%x", w[0], w[1], w[2], w[3])
		}
	}

	h.describeCompute(f, extensions)

	h.tiers = 1 << tierBuffer
	if t.svmAlloc != nil && h.atLeast(2, 0) {
		h.svm = f.number(deviceSVMCaps)
		h.svmMigrate = t.svmMigrate != nil && h.atLeast(2, 1)
		if h.svm&svmCoarse != 0 {
			h.tiers |= 1 << tierSVMCoarse
		}
		if h.svm&svmFine != 0 {
			h.tiers |= 1 << tierSVM
		}
	}
	if extensions["cl_intel_unified_shared_memory"] &&
		f.number(deviceUSMDevice)&usmAccess != 0 && f.number(deviceUSMHost)&usmAccess != 0 {
		if h.usm = usm(); h.usm != nil {
			h.tiers |= 1 << tierUSM
			h.usmShared = f.number(deviceUSMShared)
			h.usmSystem = f.number(deviceUSMSystem)
			// For each argument that is set as USM, Intel's runtime notes which commands use the memory, in case the program frees it with a
			// call that waits for them. That takes 1 us of a launch of 3 us. Nothing here needs it: no work uses memory any more when it is
			// freed.
			h.takesAny = h.cpu && h.platformText != pocl && h.svm&svmFineSystem != 0 && t.setKernelArgSVM != nil
		}
	}
	return h, ""
}

// describeCompute queries what the device can run.
func (h *hardware) describeCompute(f facts, extensions map[string]bool) {
	h.compiler, h.linker = f.number(deviceCompiler) != 0, f.number(deviceLinker) != 0
	if strings.Contains(f.text(deviceIL), "SPIR-V") {
		if h.atLeast(2, 1) {
			h.createIL = h.t.createILProgram
		}
		if h.createIL == nil && extensions["cl_khr_il_program"] && h.t.il != nil {
			if il := h.t.il(h.platform.id); il != nil {
				h.createIL = il.createILProgram
			}
		}
	}
	c := &h.compute
	*c = driver.Compute{
		Units: int(f.number(deviceMaxUnits)), MaxThreads: uint32(min(f.number(deviceMaxGroup), math.MaxUint32)),
		Shared: f.number(deviceLocalMemSize), SharedByParam: true,
		Float64: f.number(deviceDoubleConfig) != 0, Float16: extensions["cl_khr_fp16"],
	}
	c.LoopRounds, c.Nesting = llvmpipe.Limits(h.name, h.driver)
	if h.platformText == pocl && h.cpu { // all threads of a block run on the stack of one thread of PoCL, which usually has 8 MiB
		c.BlockStack = 4 << 20
	}
	if h.compiler {
		c.Language = driver.LanguageOpenCLC
	}
	if most := f.sizes(deviceMaxItems, 3); most != nil {
		for i := range c.MaxBlock {
			c.MaxBlock[i] = uint32(min(most[i], math.MaxUint32))
		}
	}
	if bits := f.number(deviceAddressBits); bits == 32 {
		c.MaxGlobal = math.MaxUint32
	}
	switch {
	case h.cpu:
		c.Warp = 1
	case extensions["cl_nv_device_attribute_query"]:
		c.Warp = uint32(f.number(deviceWarpNV))
	case extensions["cl_amd_device_attribute_query"]:
		c.Warp = uint32(f.number(deviceWavefrontAMD))
	}
}

func (h *hardware) atLeast(major, minor int) bool {
	return h.major > major || h.major == major && h.minor >= minor
}

// info describes the device in the tier that prefer chooses.
func (h *hardware) info(t *table, ordinal int, prefer preference) driver.Info {
	chosen := prefer.choose(h.tiers)
	about := []string{
		fmt.Sprintf("%s %s", h.platformText, h.driver),
		fmt.Sprintf("OpenCL %d.%d", h.major, h.minor),
		fmt.Sprintf("%s %s", t.binding, t.library),
	}
	if h.unifiedSVM {
		about = append(about, "cl_khr_unified_svm")
	}
	if chosen == tierNone {
		about = append(about, h.lacking(prefer))
	}
	name := h.name
	if h.emulated && !strings.Contains(strings.ToLower(name), "simulated") {
		name += " (simulated)"
	}
	caps := h.caps(chosen)
	info := driver.Info{
		Backend: backendName, Ordinal: ordinal, Class: h.class,
		Model: name, Vendor: h.vendor, Driver: strings.Join(about, ", "), MemoryModel: chosen.String(),
		UUID: h.uuid, PCI: h.pci,
		TotalMemory: h.total, MaxAlloc: h.maxAlloc, Alignment: h.align, MaxAlign: h.maxAlign(chosen),
		SharesHostMemory: h.unified && (chosen == tierUSM || chosen == tierSVM), Simulated: h.emulated,
		Caps: caps,
	}
	if info.Caps.Has(driver.CapKernels) {
		info.Compute = h.compute
	}
	return info
}

// tryCallback finds out, in a context of the device, whether a function can be called when an event completes. OpenCL has
// promised that since 1.1 (section 5.9), but Wine's library refuses it. The event is complete already, so nothing has to be
// waited for. Only the status of the call matters, not whether the function is called.
func (h *hardware) tryCallback(ctx uintptr) {
	cl, st := h.t.createUserEvent(ctx)
	if st != success {
		return
	}
	defer h.t.releaseEvent(cl)
	if h.t.setUserEvent(cl, execComplete) != success {
		return
	}
	id, err := eventDone().Add(func(dl.CallbackArgs) {})
	if err != nil {
		return
	}
	h.noCallbacks.Store(h.t.setEventCallback(cl, eventDone().Entry(), id) != success)
	eventDone().Remove(id)
}

// lacking returns the reason why prefer chooses no tier.
func (h *hardware) lacking(prefer preference) string {
	return fmt.Sprintf("%s is %s, but the device supports only %s", memoryEnv, prefer.forced, h.tiers)
}

// pageAlign is the largest alignment that an allocation may request in a tier with addresses, unless the device guarantees more. Where the
// device guarantees less, the backend allocates more bytes and uses the first aligned address.
const pageAlign = 4096

func (h *hardware) maxAlign(chosen tier) uint64 {
	if chosen == tierBuffer {
		return h.align
	}
	return max(h.align, pageAlign)
}

func (h *hardware) caps(chosen tier) driver.Caps {
	if chosen == tierNone {
		return 0
	}
	caps := driver.CapPeerCopy | driver.CapImport | driver.CapImportStream
	set := func(c driver.Caps, when bool) {
		if when {
			caps |= c
		}
	}
	set(driver.CapHostCallback, !h.noCallbacks.Load())
	set(driver.CapMemInfo, h.freeMemory)
	set(driver.CapTiming, h.timer)
	// If clFlush returns only when the work is done, a flush of work behind a shut gate would never return.
	set(driver.CapAsyncCopy|driver.CapGate, !h.blocking)
	// The driver of a discrete device may copy host memory into a staging buffer before earlier work is done.
	set(driver.CapOrderedPageable, h.cpu)
	set(driver.CapAddress, chosen != tierBuffer)
	kernels := h.t.ndRange != nil
	switch chosen {
	case tierUSM:
		kernels = kernels && h.usm.setKernelArg != nil
	case tierSVM, tierSVMCoarse:
		kernels = kernels && h.t.setKernelArgSVM != nil
	}
	set(driver.CapKernels, kernels)
	set(driver.CapCompile, kernels && h.compiler)
	switch chosen {
	case tierUSM:
		shared := h.usmShared&usmAccess != 0
		set(driver.CapShared, shared)
		set(driver.CapPointerInfo, h.usm.allocInfo != nil)
		set(driver.CapConcurrentShared, shared && h.usmShared&usmConcurrentAccess != 0)
		set(driver.CapRegister, h.unified && h.usmSystem&usmAccess != 0)
	case tierSVM:
		set(driver.CapShared|driver.CapConcurrentShared, true)
		set(driver.CapPrefetch, h.svmMigrate)
		// PoCL 7.1 crashes in clEnqueueSVMMemFill of memory that it has not allocated. Versions with unified shared memory are in this tier
		// only if it is forced.
		set(driver.CapRegister, h.unified && h.svm&svmFineSystem != 0 && !(h.platformText == pocl && h.tiers.has(tierUSM)))
	}
	return caps
}

// eventDone is the callback that OpenCL calls when an event completes, with the event, its status and an id.
var eventDone = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(3, 2) })
