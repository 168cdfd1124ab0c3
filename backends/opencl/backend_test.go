//go:build opencl

package opencl

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	stdmaps "maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// fakePlatform is a platform that a test makes up.
type fakePlatform struct {
	name    string
	hang    chan struct{} // device lists wait until it is closed, if not nil
	status  status
	devices []fakeDevice
}

type fakeDevice map[uint32]any // by parameter

func gpu(name string, more fakeDevice) fakeDevice {
	d := fakeDevice{
		deviceName: name, deviceVendor: "Acme", driverVersion: "7", deviceVersion: "OpenCL 3.0 fake",
		deviceType: uint64(1 << 2), deviceAvailable: uint32(1), deviceGlobalMemSize: uint64(8 << 30),
		deviceMaxAlloc: uint64(2 << 30), deviceBaseAddrAlign: uint32(1024), deviceHostUnified: uint32(0),
		deviceExtensions: "", deviceSVMCaps: uint64(0), deviceTimerResolution: uint64(1),
	}
	for k, v := range more {
		d[k] = v
	}
	return d
}

func answer(v any, value []byte) (uint64, status) {
	var b []byte
	switch v := v.(type) {
	case nil:
		return 0, -30
	case string:
		b = append([]byte(v), 0)
	case uint32:
		b = binary.NativeEndian.AppendUint32(nil, v)
	case uint64:
		b = binary.NativeEndian.AppendUint64(nil, v)
	case []byte:
		b = v
	}
	if value != nil && len(value) < len(b) {
		return uint64(len(b)), -30
	}
	copy(value, b)
	return uint64(len(b)), success
}

// fake is a table of made-up platforms, whose devices cannot do anything.
func fake(platforms ...*fakePlatform) *table {
	device := func(id uintptr) fakeDevice { return platforms[id/100-1].devices[id%100] }
	return &table{
		binding: "fake", library: "libfake",
		platformIDs: func(ids []uintptr) (uint32, status) {
			for i := range min(len(ids), len(platforms)) {
				ids[i] = uintptr(i + 1)
			}
			if len(platforms) == 0 {
				return 0, noPlatform
			}
			return uint32(len(platforms)), success
		},
		getPlatformInfo: func(id uintptr, param uint32, value []byte) (uint64, status) {
			return answer(platforms[id-1].name, value)
		},
		deviceIDs: func(id uintptr, _ uint64, ids []uintptr) (uint32, status) {
			p := platforms[id-1]
			if p.hang != nil {
				<-p.hang
			}
			for i := range min(len(ids), len(p.devices)) {
				ids[i] = id*100 + uintptr(i)
			}
			return uint32(len(p.devices)), p.status
		},
		getDeviceInfo: func(id uintptr, param uint32, value []byte) (uint64, status) {
			return answer(device(id)[param], value)
		},
		usm:            func(uintptr) *usmTable { return &usmTable{} },
		svmAlloc:       func(uintptr, uint64, uint64, uint32) uintptr { return 0 },
		svmMigrate:     func(uintptr, uintptr, uint64, uint64) (uintptr, status) { return 0, -59 },
		createContext:  func([]uintptr, uintptr) (uintptr, status) { return 1, success },
		releaseContext: func(uintptr) status { return success },
		createBuffer:   func(uintptr, uint64, uint64, uintptr) (uintptr, status) { return 0, -4 },

		createUserEvent: func(uintptr) (uintptr, status) { return 0, -59 },
	}
}

func fakeBackend(platforms ...*fakePlatform) *backend {
	return newBackend(func() (*table, error) { return fake(platforms...), nil })
}

func names(infos []driver.Info) string {
	var all []string
	for _, i := range infos {
		all = append(all, i.Model)
	}
	return strings.Join(all, " ")
}

func wantDevices(t testing.TB, b *backend, ctx context.Context, want string) {
	t.Helper()
	infos, err := b.Devices(ctx)
	ok(t, err)
	if names(infos) != want {
		t.Fatalf("devices %q, want %q", names(infos), want)
	}
	for i, info := range infos {
		if info.Ordinal != i || info.Backend != "opencl" {
			t.Errorf("device %d says it is %s:%d", i, info.Backend, info.Ordinal)
		}
	}
}

func wantProblem(t testing.TB, b *backend, words ...string) {
	t.Helper()
	all := strings.Join(b.Problems(context.Background()), "\n")
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("the problems do not mention %q:\n%s", w, all)
		}
	}
}

func TestDevicesOfSeveralPlatforms(t *testing.T) {
	b := fakeBackend(
		&fakePlatform{name: "One", devices: []fakeDevice{gpu("a", nil), gpu("b", nil)}},
		&fakePlatform{name: "Empty", status: deviceNotFound},
		&fakePlatform{name: "Broken", status: -6},
		&fakePlatform{name: "Two", devices: []fakeDevice{
			gpu("old", fakeDevice{deviceVersion: "OpenCL 1.1 old"}),
			gpu("c", nil),
			gpu("away", fakeDevice{deviceAvailable: uint32(0)}),
			gpu("odd", fakeDevice{deviceVersion: "CL"}),
		}},
		&fakePlatform{name: "Ancient", devices: []fakeDevice{gpu("older", fakeDevice{deviceVersion: "OpenCL 1.0"})}},
	)
	for range 3 {
		wantDevices(t, b, t.Context(), "a b c")
	}
	wantProblem(t, b, "platform 1 (Empty) has no devices", "platform 2 (Broken)", "CL_OUT_OF_HOST_MEMORY",
		`old reports version "OpenCL 1.1 old"`, "away is not available", `odd reports version "CL"`, "platform 4 (Ancient) has no usable device")
	_, err := b.Open(t.Context(), 3)
	wantKind(t, err, driver.ErrOutOfRange)
	wantWords(t, err.Error(), "the number of devices is 3, and they are numbered from 0", "platform 1 (Empty) has no devices")
	_, err = b.Open(t.Context(), -1)
	wantKind(t, err, driver.ErrOutOfRange)
}

// A platform keeps its place in the library's order, however long it takes to list its devices. A device behind one that has not answered
// has no number yet: to open it waits, or fails with the platform's name.
func TestSlowPlatformsKeepTheirPlaces(t *testing.T) {
	for slow := range 3 {
		hang := make(chan struct{})
		platforms := []*fakePlatform{
			{name: "One", devices: []fakeDevice{gpu("a", nil), gpu("b", nil)}},
			{name: "Two", devices: []fakeDevice{gpu("c", nil)}},
			{name: "Three", devices: []fakeDevice{gpu("d", nil)}},
		}
		models := []string{"a", "b", "c", "d"}
		first := []int{0, 2, 3, 4} // the first ordinal of each platform
		platforms[slow].hang = hang
		tab := fake(platforms...)
		b := newBackend(func() (*table, error) { return tab, nil })
		for _, what := range []string{"cancelled", "late"} {
			cause := map[string]error{"cancelled": context.Canceled, "late": context.DeadlineExceeded}[what]
			ctx, cancel := context.WithCancelCause(t.Context())
			asked := make(chan struct{})
			var once sync.Once
			list := tab.deviceIDs
			tab.deviceIDs = func(id uintptr, k uint64, ids []uintptr) (uint32, status) {
				if int(id-1) == slow {
					once.Do(func() { close(asked) })
				}
				return list(id, k, ids)
			}
			if what == "cancelled" {
				go func() { <-asked; cancel(cause) }()
			} else {
				cancel(cause) // the platform has been asked
			}
			infos, err := b.Devices(ctx)
			wantKind(t, err, driver.ErrNotReady)
			name := fmt.Sprintf("platform %d (%s)", slow, platforms[slow].name)
			if !errors.Is(err, cause) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: error %v does not wrap %v, or does not name %s", what, err, cause, name)
			}
			if want := strings.Join(models[:first[slow]], " "); names(infos) != want {
				t.Errorf("%s: devices %q, want %q", what, names(infos), want)
			}
			for i := range models {
				d, err := b.Open(ctx, i)
				if i < first[slow] {
					ok(t, err)
					if got := d.Info().Model; got != models[i] {
						t.Errorf("%d is %s, want %s", i, got, models[i])
					}
					ok(t, d.Close())
					continue
				}
				wantKind(t, err, driver.ErrNotReady)
				if !strings.Contains(err.Error(), name) {
					t.Errorf("open %d: %v does not name %s", i, err, name)
				}
			}
			if what == "cancelled" {
				continue
			}
			waits := make(chan string)
			go func() {
				d, err := b.Open(t.Context(), len(models)-1)
				if err != nil {
					waits <- err.Error()
					return
				}
				waits <- d.Info().Model
			}()
			close(hang)
			if got := <-waits; got != "d" {
				t.Errorf("the last device: %s", got)
			}
			wantDevices(t, b, t.Context(), strings.Join(models, " "))
			if p := b.Problems(t.Context()); len(p) > 0 {
				t.Errorf("problems after the answer: %q", p)
			}
		}
	}
}

func TestLibraryThatHangs(t *testing.T) {
	hang := make(chan struct{})
	tab := fake(&fakePlatform{name: "Good", devices: []fakeDevice{gpu("a", nil)}})
	list := tab.platformIDs
	calls, asked, devices := 0, 0, tab.deviceIDs
	tab.platformIDs = func(ids []uintptr) (uint32, status) {
		calls++
		<-hang
		return list(ids)
	}
	tab.deviceIDs = func(platform uintptr, kinds uint64, ids []uintptr) (uint32, status) {
		asked++
		return devices(platform, kinds, ids)
	}
	b := newBackend(func() (*table, error) { return tab, nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		_, err := b.Devices(ctx)
		wantKind(t, err, driver.ErrNotReady)
		wantWords(t, err.Error(), "the OpenCL library has not listed its platforms")
	}
	close(hang)
	wantDevices(t, b, t.Context(), "a")
	if calls != 1 || asked != 1 {
		t.Errorf("the library was asked %d times, and its platform %d times", calls, asked)
	}
}

func TestNoPlatform(t *testing.T) {
	b := fakeBackend()
	for range 2 {
		_, err := b.Devices(t.Context())
		wantKind(t, err, driver.ErrUnavailable)
		for _, want := range []string{"libfake", "CL_PLATFORM_NOT_FOUND_KHR", "/etc/OpenCL/vendors", "OCL_ICD_VENDORS"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not mention %s", err, want)
			}
		}
	}
}

func TestPlatformsWithoutDevices(t *testing.T) {
	b := fakeBackend(&fakePlatform{name: "Empty", status: deviceNotFound}, &fakePlatform{name: pocl, status: deviceNotFound})
	_, listed := b.Devices(t.Context())
	_, opened := b.Open(t.Context(), 0)
	for _, err := range []error{listed, opened} {
		wantKind(t, err, driver.ErrUnavailable)
		wantWords(t, err.Error(), "no platform has a device: platform 0 (Empty) has no devices; platform 1", "POCL_CACHE_DIR")
	}
	wantProblem(t, b, "platform 0 (Empty) has no devices")
}

func TestTierFollowsTheEnvironment(t *testing.T) {
	usm := fakeDevice{deviceExtensions: "cl_intel_unified_shared_memory", deviceUSMDevice: uint64(1), deviceUSMHost: uint64(1)}
	b := fakeBackend(&fakePlatform{name: "P", devices: []fakeDevice{
		gpu("plain", nil),
		gpu("coarse", fakeDevice{deviceSVMCaps: uint64(svmCoarse)}),
		gpu("fine", fakeDevice{deviceSVMCaps: uint64(svmCoarse | svmFine)}),
		gpu("usm", usm),
		gpu("old", fakeDevice{deviceVersion: "OpenCL 1.2", deviceSVMCaps: uint64(svmCoarse | svmFine)}),
		gpu("hollow", fakeDevice{deviceExtensions: "cl_intel_unified_shared_memory"}),
	}})
	for _, row := range []struct{ force, want string }{
		{"", "buffer svm-coarse svm usm buffer buffer"},
		{"usm", "- - - usm - -"},
		{"svm", "- svm-coarse svm - - -"},
		{"svm-coarse", "- svm-coarse svm-coarse - - -"},
		{"buffer", "buffer buffer buffer buffer buffer buffer"},
	} {
		t.Setenv(memoryEnv, row.force)
		infos, err := b.Devices(t.Context())
		ok(t, err)
		for i, want := range strings.Fields(row.want) {
			info := infos[i]
			if want == "-" {
				_, err := b.Open(t.Context(), i)
				wantKind(t, err, driver.ErrUnsupported)
				if info.MemoryModel != "" || info.Caps != 0 || !strings.Contains(info.Driver, memoryEnv+" is "+row.force) ||
					!strings.Contains(err.Error(), "the device supports only ") {
					t.Errorf("forced %q: %s is listed as %+v and refused with %v", row.force, info.Model, info, err)
				}
				continue
			}
			if info.MemoryModel != want {
				t.Errorf("forced %q: %s has tier %q, want %q", row.force, info.Model, info.MemoryModel, want)
			}
		}
	}
	for _, bad := range []string{"USM", "fast", "usm,svm", " "} {
		t.Setenv(memoryEnv, bad)
		_, err := b.Devices(t.Context())
		wantKind(t, err, driver.ErrInvalidArgument)
		_, err = b.Open(t.Context(), 0)
		wantKind(t, err, driver.ErrInvalidArgument)
	}
}

// A device that refuses host callbacks lacks the capability once it has been opened.
func TestRefusedCallbacksAreNoCapability(t *testing.T) {
	for _, refused := range []status{success, invalidValue} {
		made := fake(&fakePlatform{name: "P", devices: []fakeDevice{gpu("one", nil)}})
		var log []string
		made.createUserEvent = func(uintptr) (uintptr, status) { log = append(log, "create"); return 1, success }
		made.setUserEvent = func(_ uintptr, exec int32) status { log = append(log, fmt.Sprint("set ", exec)); return success }
		made.setEventCallback = func(uintptr, uintptr, uintptr) status {
			log = append(log, "callback")
			return refused
		}
		made.releaseEvent = func(uintptr) status { log = append(log, "release"); return success }
		b := newBackend(func() (*table, error) { return made, nil })
		open := func() driver.Device {
			d, err := b.Open(t.Context(), 0)
			ok(t, err)
			return d
		}
		d := open()
		again := open()
		if want := "create set 0 callback release"; strings.Join(log, " ") != want {
			t.Errorf("%v, want %s, once", log, want)
		}
		infos, err := b.Devices(t.Context())
		ok(t, err)
		for what, info := range map[string]driver.Info{"opened": d.Info(), "opened again": again.Info(), "listed": infos[0]} {
			if has := info.Caps.Has(driver.CapHostCallback); has != (refused == success) {
				t.Errorf("clSetEventCallback answers %d; %s: host callbacks %v", refused, what, has)
			}
		}
		ok(t, d.Close())
		ok(t, again.Close())
		if n := eventDone().Outstanding(); n != 0 {
			t.Errorf("%d callbacks are outstanding", n)
		}
	}
}

func TestCapabilities(t *testing.T) {
	const always = driver.CapAsyncCopy | driver.CapTiming | driver.CapGate | driver.CapHostCallback | driver.CapPeerCopy |
		driver.CapImport | driver.CapImportStream
	const usm = "cl_intel_unified_shared_memory"
	for _, row := range []struct {
		name string
		more fakeDevice
		want driver.Caps
	}{
		{"plain", nil, 0},
		{"plain unified", fakeDevice{deviceHostUnified: uint32(1)}, 0},
		{"plain CPU", fakeDevice{deviceType: uint64(deviceTypeCPU)}, driver.CapOrderedPageable},
		{"coarse", fakeDevice{deviceSVMCaps: uint64(svmCoarse)}, driver.CapAddress},
		{"fine", fakeDevice{deviceSVMCaps: uint64(svmFine)}, driver.CapAddress | driver.CapShared | driver.CapConcurrentShared | driver.CapPrefetch},
		{"fine 2.0", fakeDevice{deviceSVMCaps: uint64(svmFine), deviceVersion: "OpenCL 2.0 x"}, driver.CapAddress | driver.CapShared | driver.CapConcurrentShared},
		{"system", fakeDevice{deviceSVMCaps: uint64(svmFine | svmFineSystem), deviceVersion: "OpenCL 2.0", deviceHostUnified: uint32(1)},
			driver.CapAddress | driver.CapShared | driver.CapConcurrentShared | driver.CapRegister},
		{"usm", fakeDevice{deviceExtensions: usm, deviceUSMDevice: uint64(1), deviceUSMHost: uint64(1)}, driver.CapAddress},
		{"usm shared", fakeDevice{deviceExtensions: usm, deviceUSMDevice: uint64(1), deviceUSMHost: uint64(1), deviceUSMShared: uint64(1)},
			driver.CapAddress | driver.CapShared},
		{"usm all", fakeDevice{deviceExtensions: usm, deviceUSMDevice: uint64(1), deviceUSMHost: uint64(1), deviceUSMShared: uint64(15),
			deviceUSMSystem: uint64(1), deviceHostUnified: uint32(1)},
			driver.CapAddress | driver.CapShared | driver.CapConcurrentShared | driver.CapRegister},
		{"usm unified", fakeDevice{deviceExtensions: usm, deviceUSMDevice: uint64(1), deviceUSMHost: uint64(1), deviceHostUnified: uint32(1)},
			driver.CapAddress},
		{"amd", fakeDevice{deviceExtensions: "cl_amd_device_attribute_query"}, driver.CapMemInfo},
	} {
		b := fakeBackend(&fakePlatform{name: "P", devices: []fakeDevice{gpu(row.name, row.more)}})
		infos, err := b.Devices(t.Context())
		ok(t, err)
		if got := infos[0].Caps; got != row.want|always {
			t.Errorf("%s: %s, want %s", row.name, got, row.want|always)
		}
	}
}

// Rusticl's time stamps have no meaning, and Oclgrind runs work only when it is told to flush or
// wait.
func TestCapabilitiesThatAreNotKept(t *testing.T) {
	b := fakeBackend(
		&fakePlatform{name: "rusticl", devices: []fakeDevice{gpu("llvmpipe", fakeDevice{deviceTimerResolution: uint64(0)})}},
		&fakePlatform{name: "Oclgrind", devices: []fakeDevice{gpu("Oclgrind Simulator", nil)}})
	infos, err := b.Devices(t.Context())
	ok(t, err)
	if caps := infos[0].Caps; caps.Has(driver.CapTiming) || !caps.Has(driver.CapGate|driver.CapAsyncCopy) {
		t.Errorf("Rusticl: %s", caps)
	}
	if caps := infos[1].Caps; caps&(driver.CapGate|driver.CapAsyncCopy) != 0 || !caps.Has(driver.CapTiming) {
		t.Errorf("Oclgrind: %s", caps)
	}
	if !infos[1].Simulated || infos[1].Model != "Oclgrind Simulator (simulated)" {
		t.Errorf("Oclgrind: %q, simulated: %t", infos[1].Model, infos[1].Simulated)
	}
}

// PoCL crashes when it fills registered memory in the tier svm, if it has the tier usm too.
func TestRegisteringInAForcedTier(t *testing.T) {
	system := fakeDevice{deviceSVMCaps: uint64(svmFine | svmFineSystem), deviceHostUnified: uint32(1)}
	both := fakeDevice{deviceExtensions: "cl_intel_unified_shared_memory", deviceUSMDevice: uint64(1), deviceUSMHost: uint64(1)}
	stdmaps.Copy(both, system)
	b := fakeBackend(&fakePlatform{name: pocl, devices: []fakeDevice{gpu("a", both), gpu("b", system)}},
		&fakePlatform{name: "Other", devices: []fakeDevice{gpu("c", both)}})
	t.Setenv(memoryEnv, "svm")
	infos, err := b.Devices(t.Context())
	ok(t, err)
	for i, want := range []bool{false, true, true} {
		if infos[i].Caps.Has(driver.CapRegister) != want {
			t.Errorf("%s: %s", infos[i].Model, infos[i].Caps)
		}
	}
}

// Two libraries in one process do not ask their drivers at the same time.
func TestListingsTakeTurns(t *testing.T) {
	tab := fake(&fakePlatform{name: "P", devices: []fakeDevice{gpu("a", nil)}})
	locked := func(what string) {
		if dl.OpenCL.TryLock() {
			dl.OpenCL.Unlock()
			t.Error(what, "is called without the lock")
		}
	}
	platforms, devices := tab.platformIDs, tab.deviceIDs
	tab.platformIDs = func(ids []uintptr) (uint32, status) { locked("clGetPlatformIDs"); return platforms(ids) }
	tab.deviceIDs = func(p uintptr, k uint64, ids []uintptr) (uint32, status) {
		locked("clGetDeviceIDs")
		return devices(p, k, ids)
	}
	wantDevices(t, newBackend(func() (*table, error) { return tab, nil }), t.Context(), "a")
}

func TestLockedCalls(t *testing.T) {
	var under, most atomic.Int32
	table := (&table{flush: func(queue uintptr) status {
		most.Store(max(most.Load(), under.Add(1)))
		for range 10 {
			runtime.Gosched()
		}
		under.Add(-1)
		return status(queue)
	}}).locked()
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			if st := table.flush(uintptr(i)); st != status(i) {
				t.Errorf("status %d, want %d", st, i)
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n != 1 {
		t.Errorf("%d calls at once", n)
	}
	if table.marker != nil {
		t.Error("a call that the library lacks is there")
	}
}

func TestInfoIsComplete(t *testing.T) {
	uuid := []byte("0123456789abcdef")
	b := fakeBackend(&fakePlatform{name: "Acme\n OpenCL ", devices: []fakeDevice{
		gpu("  GPU\t9000 ", fakeDevice{
			deviceExtensions: "cl_khr_device_uuid cl_khr_pci_bus_info cl_khr_unified_svm",
			deviceUUID:       uuid, devicePCIBusInfo: binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint64(
				binary.NativeEndian.AppendUint32(nil, 1), 3<<32|2), 4),
		}),
		gpu("FPGA Emulation Device", nil),
	}})
	infos, err := b.Devices(t.Context())
	ok(t, err)
	info := infos[0]
	if info.Model != "GPU 9000" || info.Vendor != "Acme" || info.TotalMemory != 8<<30 || info.MaxAlloc != 2<<30 ||
		info.Alignment != 128 || info.UUID != driver.UUID(uuid) || info.SharesHostMemory || info.Simulated {
		t.Errorf("%+v", info)
	}
	if want := "0001:02:03.4"; info.PCI != want {
		t.Errorf("PCI %v, want %v", info.PCI, want)
	}
	for _, want := range []string{"Acme OpenCL 7", "OpenCL 3.0", "fake libfake", "cl_khr_unified_svm"} {
		if !strings.Contains(info.Driver, want) {
			t.Errorf("driver %q does not mention %q", info.Driver, want)
		}
	}
	if !infos[1].Simulated {
		t.Error("an emulated device does not say so")
	}
}

func TestMemoryInformation(t *testing.T) {
	b := fakeBackend(&fakePlatform{name: "P", devices: []fakeDevice{
		gpu("amd", fakeDevice{
			deviceExtensions:    "cl_amd_device_attribute_query",
			deviceFreeMemoryAMD: binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 5<<20), 1<<20),
		}),
		gpu("other", nil),
	}})
	d, err := b.Open(t.Context(), 0)
	ok(t, err)
	free, total, err := d.MemInfo()
	ok(t, err)
	if free != 5<<30 || total != 8<<30 {
		t.Errorf("%d of %d free", free, total)
	}
	_, err = d.Alloc(driver.KindDevice, 1<<20, 0)
	wantKind(t, err, driver.ErrOutOfMemory)
	e := err.(*driver.Error)
	if e.Vendor.Name != "CL_MEM_OBJECT_ALLOCATION_FAILURE" || e.Vendor.Code != -4 || e.Vendor.API != "clCreateBuffer" {
		t.Errorf("vendor %+v", e.Vendor)
	}
	ok(t, d.Close())
	d, err = b.Open(t.Context(), 1)
	ok(t, err)
	if d.Info().Caps.Has(driver.CapMemInfo) {
		t.Error("a device without the extension reports free memory")
	}
	ok(t, d.Close())
}

func TestLibraryThatIsMissing(t *testing.T) {
	t.Setenv(libraryEnv, "libhalyard-absent.so.1")
	b := newBackend(loadTable)
	_, err := b.Devices(t.Context())
	wantKind(t, err, driver.ErrUnavailable)
	for _, want := range []string{"libhalyard-absent.so.1", libraryEnv} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %s", err, want)
		}
	}
	_, err = b.Open(t.Context(), 0)
	wantKind(t, err, driver.ErrUnavailable)
	if p := b.Problems(t.Context()); len(p) != 1 || !strings.Contains(p[0], "libhalyard-absent.so.1") {
		t.Errorf("problems %q", p)
	}
	// The error for a library that is not OpenCL names a function that it lacks.
	t.Setenv(libraryEnv, "libc.so.6")
	if _, err = b.Devices(t.Context()); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "clGetPlatformIDs") {
		t.Errorf("with the C library: %v", err)
	}
}
