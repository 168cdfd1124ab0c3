//go:build cuda

package cuda

import (
	"sync"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

// symbols are the names under which the driver exports its calls. Many calls have several versions, and cuda.h replaces
// cuMemAlloc, for example, by cuMemAlloc_v2. This package passes the arguments of the versions listed here. Every
// later driver exports them too.
var symbols = cudahip.Symbols{
	cudahip.CallInit:            {Name: "cuInit"},
	cudahip.CallVersion:         {Name: "cuDriverGetVersion"},
	cudahip.CallDeviceCount:     {Name: "cuDeviceGetCount"},
	cudahip.CallDeviceGet:       {Name: "cuDeviceGet"},
	cudahip.CallDeviceName:      {Name: "cuDeviceGetName"},
	cudahip.CallDeviceTotal:     {Name: "cuDeviceTotalMem_v2"},
	cudahip.CallDeviceAttribute: {Name: "cuDeviceGetAttribute"},
	cudahip.CallDeviceUUID:      {Name: "cuDeviceGetUuid_v2", Older: "cuDeviceGetUuid", Optional: true},
	cudahip.CallDeviceBus:       {Name: "cuDeviceGetPCIBusId", Optional: true},
	cudahip.CallCanAccessPeer:   {Name: "cuDeviceCanAccessPeer", Optional: true},
	cudahip.CallRetain:          {Name: "cuDevicePrimaryCtxRetain"},
	cudahip.CallRelease:         {Name: "cuDevicePrimaryCtxRelease_v2"},
	cudahip.CallMakeCurrent:     {Name: "cuCtxSetCurrent"},
	cudahip.CallPeerEnable:      {Name: "cuCtxEnablePeerAccess", Optional: true},
	cudahip.CallMemInfo:         {Name: "cuMemGetInfo_v2"},
	cudahip.CallMemAlloc:        {Name: "cuMemAlloc_v2"},
	cudahip.CallMemFree:         {Name: "cuMemFree_v2"},
	cudahip.CallHostAlloc:       {Name: "cuMemHostAlloc"},
	cudahip.CallHostFree:        {Name: "cuMemFreeHost"},
	cudahip.CallHostRegister:    {Name: "cuMemHostRegister_v2", Optional: true},
	cudahip.CallHostUnregister:  {Name: "cuMemHostUnregister", Optional: true},
	cudahip.CallHostAddr:        {Name: "cuMemHostGetDevicePointer_v2"},
	cudahip.CallManagedAlloc:    {Name: "cuMemAllocManaged", Optional: true},
	cudahip.CallAllocAsync:      {Name: "cuMemAllocAsync", Optional: true},
	cudahip.CallFreeAsync:       {Name: "cuMemFreeAsync", Optional: true},
	cudahip.CallAddressRange:    {Name: "cuMemGetAddressRange_v2", Optional: true},
	cudahip.CallPointer:         {Name: "cuPointerGetAttribute", Optional: true},
	cudahip.CallCopyIn:          {Name: "cuMemcpyHtoDAsync_v2"},
	cudahip.CallCopyOut:         {Name: "cuMemcpyDtoHAsync_v2"},
	cudahip.CallCopyDevice:      {Name: "cuMemcpyDtoDAsync_v2"},
	cudahip.CallCopyAny:         {Name: "cuMemcpyAsync"},
	cudahip.CallCopyPeer:        {Name: "cuMemcpyPeerAsync", Optional: true},
	cudahip.CallCopy2D:          {Name: "cuMemcpy2DAsync_v2", Optional: true},
	cudahip.CallFill8:           {Name: "cuMemsetD8Async"},
	cudahip.CallFill16:          {Name: "cuMemsetD16Async"},
	cudahip.CallFill32:          {Name: "cuMemsetD32Async"},
	cudahip.CallPrefetch:        {Name: "cuMemPrefetchAsync", Optional: true},
	cudahip.CallAdvise:          {Name: "cuMemAdvise", Optional: true},
	cudahip.CallStreamCreate:    {Name: "cuStreamCreateWithPriority"},
	cudahip.CallStreamDestroy:   {Name: "cuStreamDestroy_v2"},
	cudahip.CallStreamOwner:     {Name: "cuStreamGetCtx", Optional: true},
	cudahip.CallStreamQuery:     {Name: "cuStreamQuery"},
	cudahip.CallStreamSync:      {Name: "cuStreamSynchronize"},
	cudahip.CallStreamWait:      {Name: "cuStreamWaitEvent"},
	cudahip.CallWaitValue:       {Name: "cuStreamWaitValue32_v2", Optional: true},
	cudahip.CallHostCall:        {Name: "cuLaunchHostFunc", Optional: true},
	cudahip.CallEventCreate:     {Name: "cuEventCreate"},
	cudahip.CallEventDestroy:    {Name: "cuEventDestroy_v2"},
	cudahip.CallEventRecord:     {Name: "cuEventRecord"},
	cudahip.CallEventQuery:      {Name: "cuEventQuery"},
	cudahip.CallEventSync:       {Name: "cuEventSynchronize"},
	cudahip.CallEventElapsed:    {Name: "cuEventElapsedTime"},
	cudahip.CallIPCExport:       {Name: "cuIpcGetMemHandle", Optional: true},
	cudahip.CallIPCOpen:         {Name: "cuIpcOpenMemHandle_v2", Optional: true},
	cudahip.CallIPCClose:        {Name: "cuIpcCloseMemHandle", Optional: true},

	cudahip.CallModuleLoad:      {Name: "cuModuleLoadDataEx", Optional: true},
	cudahip.CallModuleUnload:    {Name: "cuModuleUnload", Optional: true},
	cudahip.CallModuleKernel:    {Name: "cuModuleGetFunction", Optional: true},
	cudahip.CallKernelAttribute: {Name: "cuFuncGetAttribute", Optional: true},
	cudahip.CallKernelSet:       {Name: "cuFuncSetAttribute", Optional: true},
	cudahip.CallKernelParam:     {Name: "cuFuncGetParamInfo", Optional: true}, // CUDA 12.4
	cudahip.CallKernelLoad:      {Name: "cuFuncLoad", Optional: true},         // CUDA 12.4
	cudahip.CallOccupancy:       {Name: "cuOccupancyMaxPotentialBlockSize", Optional: true},
	cudahip.CallLaunch:          {Name: "cuLaunchKernel", Optional: true},

	// The words of gates are ordinary page-locked memory, so no separate call allocates them.
	cudahip.CallSignalAlloc: {},
}

// entry is the CUhostFn that cuLaunchHostFunc calls: one argument, the user data.
var entry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

func load(lib *dl.Library) (*cudahip.Table, error) { return cudahip.NewTable(lib, &symbols, entry()) }
