package main

import (
	"context"
	"fmt"

	"github.com/gogpu/gputypes"
	"github.com/gogpu/wgpu"
	_ "github.com/gogpu/wgpu/hal/vulkan"
)

type device struct {
	*wgpu.Device
	name  string
	close func()
}

// open opens the first Vulkan device.
func open() *device {
	instance := try(wgpu.CreateInstance(&wgpu.InstanceDescriptor{Backends: wgpu.BackendsVulkan}))
	adapter := try(instance.RequestAdapter(nil))
	d := try(adapter.RequestDevice(nil))
	return &device{d, adapter.Info().Name, func() {
		d.Release()
		adapter.Release()
		instance.Release()
	}}
}

func (d *device) buffer(bytes int) *wgpu.Buffer {
	return try(d.CreateBuffer(&wgpu.BufferDescriptor{Size: uint64(bytes), Usage: wgpu.BufferUsageStorage | wgpu.BufferUsageCopySrc | wgpu.BufferUsageCopyDst}))
}

// staging returns a buffer that the host can read.
func (d *device) staging(bytes int) *wgpu.Buffer {
	return try(d.CreateBuffer(&wgpu.BufferDescriptor{Size: uint64(bytes), Usage: wgpu.BufferUsageMapRead | wgpu.BufferUsageCopyDst}))
}

func (d *device) write(to *wgpu.Buffer, data []byte) { fail(d.Queue().WriteBuffer(to, 0, data)) }

// shader compiles WGSL, in which n and steps are constants.
func (d *device) shader(text string) *wgpu.ShaderModule {
	return try(d.CreateShaderModule(&wgpu.ShaderModuleDescriptor{WGSL: fmt.Sprintf("const n = %d;\nconst steps = %d;\n%s", n, steps, text)}))
}

// kernel is an entry point of a shader.
type kernel struct {
	*wgpu.ComputePipeline
	groups *wgpu.BindGroupLayout
}

// kernel has a letter in access for each buffer: r for one that it reads, w for one that it writes.
func (d *device) kernel(shader *wgpu.ShaderModule, entry, access string) kernel {
	var entries []wgpu.BindGroupLayoutEntry
	for i, c := range access {
		kind := gputypes.BufferBindingTypeStorage
		if c == 'r' {
			kind = gputypes.BufferBindingTypeReadOnlyStorage
		}
		entries = append(entries, wgpu.BindGroupLayoutEntry{Binding: uint32(i), Visibility: wgpu.ShaderStageCompute, Buffer: &gputypes.BufferBindingLayout{Type: kind}})
	}
	groups := try(d.CreateBindGroupLayout(&wgpu.BindGroupLayoutDescriptor{Entries: entries}))
	layout := try(d.CreatePipelineLayout(&wgpu.PipelineLayoutDescriptor{BindGroupLayouts: []*wgpu.BindGroupLayout{groups}}))
	return kernel{try(d.CreateComputePipeline(&wgpu.ComputePipelineDescriptor{Layout: layout, Module: shader, EntryPoint: entry})), groups}
}

// launch is a kernel with its buffers, on a grid of workgroups.
type launch struct {
	kernel kernel
	group  *wgpu.BindGroup
	x, y   int
}

func (d *device) launch(k kernel, x, y int, buffers ...*wgpu.Buffer) launch {
	var entries []wgpu.BindGroupEntry
	for i, b := range buffers {
		entries = append(entries, wgpu.BindGroupEntry{Binding: uint32(i), Buffer: b, Size: b.Size()})
	}
	return launch{k, try(d.CreateBindGroup(&wgpu.BindGroupDescriptor{Layout: k.groups, Entries: entries})), x, y}
}

// commands are what the device does next.
type commands struct {
	*wgpu.CommandEncoder
	d    *device
	pass *wgpu.ComputePassEncoder
}

func (d *device) commands() *commands {
	return &commands{CommandEncoder: try(d.CreateCommandEncoder(nil)), d: d}
}

func (c *commands) run(launches ...launch) {
	if c.pass == nil {
		c.pass = try(c.BeginComputePass(nil))
	}
	for _, l := range launches {
		c.pass.SetPipeline(l.kernel.ComputePipeline)
		c.pass.SetBindGroup(0, l.group, nil)
		c.pass.Dispatch(uint32(l.x), uint32(l.y), 1)
	}
}

// read submits the commands, waits for them and copies a buffer to the host.
func (c *commands) read(from, staging *wgpu.Buffer, to []byte) {
	fail(c.pass.End())
	c.CopyBufferToBuffer(from, 0, staging, 0, staging.Size())
	try(c.d.Queue().Submit(try(c.Finish())))
	fail(staging.Map(context.Background(), wgpu.MapModeRead, 0, staging.Size()))
	copy(to, try(staging.MappedRange(0, staging.Size())).Bytes())
	fail(staging.Unmap())
}

// groups is how many workgroups of size threads are needed for count threads.
func groups(count, size int) int { return (count + size - 1) / size }
