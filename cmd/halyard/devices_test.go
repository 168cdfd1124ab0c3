package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// row is the line of a table that begins with the name, with its columns.
func row(t *testing.T, out, name string) []string {
	t.Helper()
	for line := range strings.SplitSeq(out, "\n") {
		if strings.HasPrefix(line, name+" ") {
			return regexp.MustCompile(" {2,}").Split(strings.TrimSpace(line), -1)
		}
	}
	t.Fatalf("no line for %s in:\n%s", name, out)
	return nil
}

func TestDevicesListsDevicesAndReasons(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	t.Setenv(hal.EnvDevices, "")
	stdout, stderr, status := halyard(t, "devices")
	assert.Equal(t, exitPassed, status)
	assert.Empty(t, stderr)
	assert.Contains(t, row(t, stdout, "host:0"), "cpu, unified")
	discrete := strings.Join(row(t, stdout, "host:1"), "|")
	assert.Contains(t, discrete, "simulated discrete device 1")
	assert.Contains(t, discrete, "cpu, discrete, simulated")
	assert.Contains(t, stdout, "async-copy timing gate")
	assert.Contains(t, stdout, "odd      the platform Slow did not answer\n")
	assert.Contains(t, stdout, "odd      backend unavailable: tried libodd.so.2: not found; libodd.so.1: not found\n")
	assert.Equal(t, 1, strings.Count(stdout, "libodd.so.2"), "what is said once is not said again")
	assert.Contains(t, stdout, "idle     the driver works, but finds no device\n")
	assert.Contains(t, stdout, "faulty   driver error: enumeration fell over\n")
	for line := range strings.SplitSeq(stdout, "\n") {
		assert.LessOrEqual(t, len(line), 110, "%s", line)
	}
}

func TestDevicesTellsOfTheSameHardware(t *testing.T) {
	reports := []hal.Report{
		{Backend: "cuda", Devices: []hal.Info{{Backend: "cuda", UUID: hal.UUID{1}}, {Backend: "cuda", Ordinal: 1, UUID: hal.UUID{2}}}},
		{Backend: "vulkan", Devices: []hal.Info{{Backend: "vulkan", UUID: hal.UUID{2}}}},
	}
	var out bytes.Buffer
	printDevices(t.Context(), &out, reports)
	require.Contains(t, out.String(), "the same hardware as vulkan:0")
	require.Contains(t, out.String(), "the same hardware as cuda:1")
	require.Equal(t, 2, strings.Count(out.String(), "the same hardware"))
	require.Equal(t, []string{"cuda:1"}, listingOf(t.Context(), reports).Backends[1].Devices[0].SameHardware)
}

func TestDevicesTellsOfTheSameProcessors(t *testing.T) {
	cpu := func(backend string, ordinal int) hal.Info {
		return hal.Info{Backend: backend, Ordinal: ordinal, Class: hal.ClassCPU}
	}
	simulated := cpu("host", 1)
	simulated.Simulated = true
	reports := []hal.Report{
		{Backend: "host", Devices: []hal.Info{cpu("host", 0), simulated}},
		{Backend: "opencl", Devices: []hal.Info{{Backend: "opencl", Class: hal.ClassGPU}, cpu("opencl", 1), cpu("opencl", 2)}},
	}
	var out bytes.Buffer
	printDevices(t.Context(), &out, reports)
	for _, line := range []string{"opencl:1 and opencl:2", "host:0 and opencl:2", "host:0 and opencl:1"} {
		require.Contains(t, out.String(), "the same processors as "+line)
	}
	require.Equal(t, 3, strings.Count(out.String(), "the same processors"))
	require.Equal(t, []string{"host:0", "opencl:1"}, listingOf(t.Context(), reports).Backends[1].Devices[2].SameProcessors)
}

func TestDevicesTellsOfMisspeltTags(t *testing.T) {
	assert.Equal(t, []string{"tag CUDA: Go's tags are case-sensitive; write -tags cuda"}, misspelt("hip,CUDA,Vulkan", "cuda"))
	assert.Equal(t, []string{"tag Vulkan: Go's tags are case-sensitive; write -tags vulkan"}, misspelt("hip,CUDA,Vulkan", "vulkan"))
	assert.Empty(t, misspelt("hip,CUDA,Vulkan", "hip"))
	assert.Empty(t, misspelt("", "cuda"))
}

func TestDevicesTellsOfTheSelection(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "2")
	t.Setenv(hal.EnvDevices, "host:2,host:0")
	stdout, _, status := halyard(t, "devices")
	assert.Equal(t, exitPassed, status)
	assert.Equal(t, "HALYARD_DEVICES=host:2,host:0: programs see host:2, host:0", lastLine(stdout))

	t.Setenv(hal.EnvDevices, "host:9")
	stdout, _, status = halyard(t, "devices")
	assert.Equal(t, exitPassed, status, "a list is no check")
	assert.Contains(t, lastLine(stdout), "programs get an error: HALYARD_DEVICES: host:9: open: out of range")
}

func TestDevicesJSONHasAll(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	stdout, stderr, status := halyard(t, "devices", "--json")
	assert.Equal(t, exitPassed, status)
	assert.Empty(t, stderr)
	got := decode[listing](t, stdout)
	reports := hal.List(t.Context())
	require.Len(t, got.Backends, len(reports))
	for i, r := range reports {
		b := got.Backends[i]
		assert.Equal(t, r.Backend, b.Backend)
		assert.Equal(t, r.Built, b.Built)
		require.Len(t, b.Devices, len(r.Devices))
		for j, info := range r.Devices {
			d := b.Devices[j]
			assert.Equal(t, info.Name(), d.Device)
			assert.Equal(t, info.Model, d.Name)
			assert.Equal(t, info.Class.String(), d.Type)
			assert.Equal(t, info.TotalMemory, d.TotalMemory)
			assert.Equal(t, info.SharesHostMemory, d.Unified)
			assert.Equal(t, info.Simulated, d.Simulated)
			if info.UUID != (hal.UUID{}) {
				assert.Equal(t, info.UUID.String(), d.UUID)
			}
			assert.ElementsMatch(t, info.Caps.Names(), d.Capabilities)
		}
		switch r.Backend {
		case "odd":
			assert.Equal(t, "backend unavailable", b.Error.Kind)
			assert.Equal(t, []string{"the platform Slow did not answer"}, b.Problems)
		case "faulty":
			assert.Equal(t, "driver error", b.Error.Kind)
			assert.Contains(t, b.Error.Message, "fell over")
		case "host", "broken", "lossy", "idle", "shy":
			assert.Nil(t, b.Error)
		}
	}
}

func TestByteCountsAreReadable(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 64 << 20: "64 MiB",
		25241513984: "23.5 GiB", 1 << 63: "8 EiB",
	} {
		assert.Equal(t, want, bytesText(n))
	}
}
