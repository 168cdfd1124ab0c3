module github.com/go-halyard/halyard/bench/apps/wgpu

go 1.25.0

require (
	github.com/gogpu/gputypes v0.5.1
	github.com/gogpu/wgpu v0.30.22
)

require (
	github.com/go-webgpu/goffi v0.6.0 // indirect
	github.com/go-webgpu/webgpu v0.5.3 // indirect
	github.com/gogpu/gpucontext v0.21.1 // indirect
	github.com/gogpu/naga v0.17.15 // indirect
)
