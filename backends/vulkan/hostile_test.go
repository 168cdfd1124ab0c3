//go:build vulkan

package vulkan

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// layersEnv names the folder of the manifest of Khronos' validation layer; see scripts/vulkan-drivers.
const layersEnv = "HALYARD_TEST_VULKAN_LAYERS"

// misuse tells TestMisuse, in a process of its own, to make a mistake.
const misuse = "HALYARD_TEST_VULKAN_MISUSE"

// The validation layer finds nothing in the suite and the other tests, and finds a mistake that is made on purpose.
func TestValidationLayer(t *testing.T) {
	layers := os.Getenv(layersEnv)
	if layers == "" {
		if required() {
			t.Fatalf("%s is not set; scripts/vulkan-drivers prints it", layersEnv)
		}
		t.Skipf("%s is not set; scripts/vulkan-drivers prints it", layersEnv)
	}
	crashes := false
	run := func(tests string, more ...string) (output string, findings []string) {
		c := exec.Command(os.Args[0], "-test.short", "-test.run", tests)
		c.Env = append(append(os.Environ(), "VK_LAYER_PATH="+layers, "VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation", layersEnv+"="), more...)
		out, err := c.CombinedOutput()
		if err != nil {
			if crashes && strings.Contains(string(out), "SIGSEGV") {
				t.Log("the layer crashes on modules with several kernels, as that of 1.3.239 does")
				return "", nil
			}
			t.Fatalf("%s: %v\n%s", tests, err, out)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if strings.Contains(line, "Validation Error") || strings.Contains(line, "VUID") || strings.Contains(line, "UNASSIGNED") {
				findings = append(findings, line)
			}
		}
		return string(out), findings
	}
	if out, findings := run("^TestMisuse$", misuse+"=1"); len(findings) == 0 {
		t.Fatalf("the layer does not find a mistake:\n%s", out)
	}
	// TestLostDevice and TestFailuresNameTheCall lie to the layer about what was called.
	const tests = "^(TestStagesAreShared|TestOrderOfHostMemory|TestRegisterAnyByte|TestNothingGrows|TestArgumentsInMemory|" +
		"TestArgumentsOfSequences|TestSuite)$/.*/.*/^[^K]"
	if _, findings := run(tests); len(findings) > 0 {
		t.Errorf("%d findings; the first: %s", len(findings), findings[0])
	}
	crashes = true
	if _, findings := run("^(TestPipelinesAreFew|TestPipelinesOfSequencesAreKept|TestSuite)$/.*/.*/^Kernels$"); len(findings) > 0 {
		t.Errorf("kernels: %d findings; the first: %s", len(findings), findings[0])
	}
}

// TestMisuse fills three bytes by a command that fills words.
func TestMisuse(t *testing.T) {
	if os.Getenv(misuse) == "" {
		t.Skip("TestValidationLayer runs it")
	}
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		m := memoryOf(t, d, driver.KindDevice, 64).(*memory)
		s := streamOf(t, d)
		must(t, s.submit("misuse", func(cb uintptr) { d.t.cmdFillBuffer(s.q.calls, cb, m.blk.buffer, m.off, 3, 0) }), s.Sync())
	})
}

// hostile returns a library with one device, whose answers a test makes worse.
func hostile(f *facts) *table {
	fill := func(b []byte, text string) { copy(b, text) }
	return &table{
		instanceVersion: func() (uint32, status) { return 1<<22 | 3<<12, success },
		instanceExtensions: func(n, list unsafe.Pointer) status {
			*(*uint32)(n) = 0
			return success
		},
		createInstance: func(unsafe.Pointer) (uintptr, status) { return 1, success },
		physicalDevices: func(_ uintptr, n unsafe.Pointer, ids []uintptr) status {
			*(*uint32)(n) = 1
			for i := range ids {
				ids[i] = uintptr(i + 1)
			}
			return success
		},
		deviceExtensions: func(_ uintptr, n, list unsafe.Pointer) status {
			if list != nil {
				fill((*extensionProperties)(list).name[:], extMemoryHost)
			}
			*(*uint32)(n) = 1
			return success
		},
		properties: func(_ uintptr, answer unsafe.Pointer) {
			p := (*properties2)(answer)
			p.api, p.kind = f.api, f.kind
			fill(p.name[:], f.model)
			*(*uint32)(p.limit(limitPushConstants)) = mostPushed
			ids := (*idProperties)(p.next)
			ids.device = [16]byte{7}
			(*maintenance3Properties)(ids.next).maxAllocation = f.maxAllocation
		},
		features: func(_ uintptr, answer unsafe.Pointer) {
			core := (*features2)(answer)
			v11 := (*features11)(core.next)
			core.on, v11.on, (*features12)(v11.next).on = f.features.core, f.features.v11, f.features.v12
		},
		memoryProperties: func(_ uintptr, answer unsafe.Pointer) {
			m := (*memoryProperties2)(answer)
			m.types, m.heaps = uint32(copy(m.typeOf[:], f.types)), uint32(copy(m.heapsOf[:], f.heaps))
		},
		queueFamilies: func(_ uintptr, n, list unsafe.Pointer) {
			if list != nil {
				*(*queueFamily)(list) = f.families[0]
			}
			*(*uint32)(n) = 1
		},
		createDevice: func(uintptr, unsafe.Pointer) (uintptr, status) { return 0, -7 },
	}
}

// A driver's list may grow while it is read, have fewer entries than it said, or be nonsense. The backend lists what can be used, or says
// what is wrong.
func TestHostileEnumeration(t *testing.T) {
	for _, c := range []struct {
		what    string
		worse   func(t *table, f *facts)
		devices int
		kind    error
		says    string
	}{
		{"as it should be", func(*table, *facts) {}, 1, nil, ""},
		{"a list that grows", func(t *table, f *facts) {
			inner, asked := t.physicalDevices, 0
			t.physicalDevices = func(in uintptr, n unsafe.Pointer, ids []uintptr) status {
				inner(in, n, ids)
				if asked++; asked == 2 {
					return incomplete
				}
				return success
			}
		}, 1, nil, ""},
		{"fewer devices than it said", func(t *table, f *facts) {
			t.physicalDevices = func(in uintptr, n unsafe.Pointer, ids []uintptr) status {
				*(*uint32)(n) = 3
				if ids != nil {
					*(*uint32)(n), ids[0] = 1, 1
				}
				return success
			}
		}, 1, nil, ""},
		{"more devices than there was room for", func(t *table, f *facts) {
			t.physicalDevices = func(in uintptr, n unsafe.Pointer, ids []uintptr) status {
				*(*uint32)(n) = 1
				if ids != nil {
					*(*uint32)(n), ids[0] = 100, 1
				}
				return success
			}
		}, 1, nil, ""},
		{"the same hardware twice", func(t *table, f *facts) {
			t.physicalDevices = func(in uintptr, n unsafe.Pointer, ids []uintptr) status {
				*(*uint32)(n) = 2
				copy(ids, []uintptr{1, 2})
				return success
			}
		}, 2, nil, ""},
		{"no devices", func(t *table, f *facts) {
			t.physicalDevices = func(in uintptr, n unsafe.Pointer, ids []uintptr) status { *(*uint32)(n) = 0; return success }
		}, 0, nil, ""},
		{"a list that fails", func(t *table, f *facts) {
			t.physicalDevices = func(uintptr, unsafe.Pointer, []uintptr) status { return -3 }
		}, 0, driver.ErrUnavailable, "vkEnumeratePhysicalDevices: VK_ERROR_INITIALIZATION_FAILED (-3)"},
		{"no driver", func(t *table, f *facts) {
			t.createInstance = func(unsafe.Pointer) (uintptr, status) { return 0, -9 }
		}, 0, driver.ErrUnavailable, "vkCreateInstance: VK_ERROR_INCOMPATIBLE_DRIVER (-9)"},
		{"an old loader", func(t *table, f *facts) {
			t.instanceVersion = func() (uint32, status) { return 1<<22 | 1<<12, success }
		}, 0, driver.ErrUnavailable, "the Vulkan loader has version 1.1.0; 1.2 is needed"},
		{"an error that is in no header", func(t *table, f *facts) {
			t.createInstance = func(unsafe.Pointer) (uintptr, status) { return 0, -1234567 }
		}, 0, driver.ErrDriver, "status -1234567"},
		{"an old device", func(t *table, f *facts) { f.api = 1 << 22 }, 0, driver.ErrUnavailable, "made up has Vulkan 1.0.0; 1.2 is needed"},
		{"no memory", func(t *table, f *facts) { f.types = nil }, 0, driver.ErrUnavailable, "no memory of its own"},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := madeUp(deviceDiscreteGPU, memoryType{local, 0}, memoryType{cachedHost, 1})
			b := newBackend(func() (*table, error) {
				table := hostile(f)
				c.worse(table, f)
				return table, nil
			})
			infos, err := b.Devices(t.Context())
			if len(infos) != c.devices || !errors.Is(err, c.kind) || c.kind != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%d devices, %v", len(infos), err)
			}
			if e := (*driver.Error)(nil); errors.As(err, &e) && e.Kind == driver.ErrUnavailable && e.Detail == "" {
				t.Errorf("%v gives no reason", err)
			}
			if c.kind != nil {
				if p := b.Problems(t.Context()); len(p) != 1 || !strings.Contains(p[0], c.says) {
					t.Errorf("problems: %q", p)
				}
			}
			for i, info := range infos {
				if unknown := info.UUID == (driver.UUID{}); unknown != (i > 0) {
					t.Errorf("device %d has the UUID %v", i, info.UUID)
				}
			}
			if _, err := b.Open(t.Context(), len(infos)); err == nil || c.kind == nil && !errors.Is(err, driver.ErrOutOfRange) {
				t.Errorf("open one more: %v", err)
			}
			if len(infos) > 0 {
				_, err := b.Open(t.Context(), 0)
				if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "VK_ERROR_EXTENSION_NOT_PRESENT") {
					t.Errorf("open: %v", err)
				}
			}
		})
	}
}

// What a driver must not answer is an error of the call that asked, and leaves nothing behind.
func TestHostileAnswers(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		real := *d.t
		for what, worse := range map[string]func(t *deviceTable){
			"vkMapMemory succeeds and gives the address 0": func(t *deviceTable) {
				t.mapMemory = func(_, _ uintptr) (uintptr, status) { return 0, success }
			},
			"vkGetBufferDeviceAddress gives the address 0": func(t *deviceTable) {
				t.bufferAddress = func(uintptr, unsafe.Pointer) uintptr { return 0 }
			},
			"VK_ERROR_TOO_MANY_OBJECTS (-10)": func(t *deviceTable) {
				t.allocateMemory = func(uintptr, unsafe.Pointer) (uintptr, status) { return 0, -10 }
			},
			"VK_ERROR_MEMORY_MAP_FAILED (-5)": func(t *deviceTable) {
				t.mapMemory = func(_, _ uintptr) (uintptr, status) { return 0, -5 }
			},
		} {
			worse(d.t)
			_, err := d.Alloc(driver.KindHost, 1<<20, 0)
			*d.t = real
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
		// A semaphore whose value falls does not undo what is done.
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 1<<20)
		must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}), s.Sync())
		raise(&d.queues[0].done, 0)
		if done, err := s.Query(); !done || err != nil {
			t.Errorf("after the semaphore's value has fallen: %t, %v", done, err)
		}
		if d.info.Caps.Has(driver.CapRegister) {
			d.t.hostPointerProperties = func(uintptr, uint32, uintptr, unsafe.Pointer) status { return success } // and no type
			_, err := d.Register(start(make([]byte, 4096)), 4096)
			*d.t = real
			if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "no type of memory takes the host memory") {
				t.Errorf("register: %v", err)
			}
			if d.hosts.tree.Len() != btoi(p.info.SharesHostMemory) {
				t.Error("memory that was not registered is known")
			}
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The variable and the option name a memory model, or are refused.
func TestMemoryModels(t *testing.T) {
	b := newBackend(func() (*table, error) {
		return hostile(madeUp(deviceCPU, memoryType{local | cachedHost, 0})), nil
	})
	for _, c := range []struct{ env, option, want string }{
		{"", "", modelUnified}, {modelDiscrete, "", modelDiscrete}, {modelUnified, modelDiscrete, modelDiscrete},
		{"cosy", "", ""}, {"", "cosy", ""}, {"cosy", modelUnified, modelUnified},
	} {
		t.Setenv(memoryEnv, c.env)
		infos, err := b.with(options{Memory: c.option}).Devices(t.Context())
		if c.want == "" {
			if !errors.Is(err, driver.ErrInvalidArgument) || !strings.Contains(err.Error(), `"cosy"; it must be "unified" or "discrete"`) {
				t.Errorf("%+v: %v", c, err)
			}
		} else if err != nil || infos[0].MemoryModel != c.want {
			t.Errorf("%+v: %+v, %v", c, infos, err)
		}
	}
	infos, err := b.with(options{Memory: modelDiscrete, Limit: 64 << 20}).Devices(t.Context())
	if err != nil || infos[0].TotalMemory != 64<<20 {
		t.Errorf("limit: %+v, %v", infos, err)
	}
}

// The variable hides features, so that a program meets a device without them. What cannot be done without is refused, as is what is none.
func TestFeaturesDoneWithout(t *testing.T) {
	b := newBackend(func() (*table, error) {
		f := madeUp(deviceDiscreteGPU, memoryType{local, 0}, memoryType{cachedHost, 1})
		for _, w := range wanted {
			*w.at(&f.features) = 1
		}
		return hostile(f), nil
	})
	for without, has := range map[string][2]bool{ // float64, and integers of 64 bits
		"": {true, true}, "shaderFloat64": {false, true}, "shaderFloat64,shaderInt64": {false, false}, "shaderInt8": {true, true},
	} {
		t.Setenv(withoutEnv, without)
		infos, err := b.Devices(t.Context())
		must(t, err)
		if c := infos[0].Compute; c.Float64 != has[0] || c.NoInt64 == has[1] {
			t.Errorf("without %q: %+v", without, c)
		}
	}
	for _, wrong := range []string{"shaderFloat46", "timelineSemaphore", "shaderInt8,"} {
		t.Setenv(withoutEnv, wrong)
		if _, err := b.Devices(t.Context()); !errors.Is(err, driver.ErrInvalidArgument) || !strings.Contains(err.Error(), wrong) {
			t.Errorf("without %q: %v", wrong, err)
		}
	}
}

// A driver whose waits always fail is given up, so that nobody waits for its device for ever.
func TestWaitsThatAlwaysFail(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		real := *d.t
		s, m := streamOf(t, d), memoryOf(t, d, driver.KindDevice, 1<<20)
		d.t.semaphoreValue = func(_, _ uintptr) (uint64, status) { return 0, success }
		d.t.waitSemaphores = func(uintptr, unsafe.Pointer, uint64) status { return unknown }
		called := make(chan struct{})
		must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}), s.OnDone(func() { close(called) }))
		<-called
		d.queues[0].watchers.Wait()
		*d.t = real
		if err := s.Sync(); !errors.Is(err, driver.ErrDeviceLost) {
			t.Errorf("sync: %v", err)
		}
	})
}
