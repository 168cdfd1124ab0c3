//go:build cuda

package cuda

import (
	"sync"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
)

// symbols are the names that the driver exports. cuda.h renames many calls to their current
// version; the names here are the versions whose arguments this package passes, which every
// later driver exports too.
var symbols = gpu.Symbols{
	gpu.CallInit:            {Name: "cuInit"},
	gpu.CallVersion:         {Name: "cuDriverGetVersion"},
	gpu.CallDeviceCount:     {Name: "cuDeviceGetCount"},
	gpu.CallDeviceGet:       {Name: "cuDeviceGet"},
	gpu.CallDeviceName:      {Name: "cuDeviceGetName"},
	gpu.CallDeviceTotal:     {Name: "cuDeviceTotalMem_v2"},
	gpu.CallDeviceAttribute: {Name: "cuDeviceGetAttribute"},
	gpu.CallDeviceUUID:      {Name: "cuDeviceGetUuid_v2", Older: "cuDeviceGetUuid", Optional: true},
	gpu.CallDeviceBus:       {Name: "cuDeviceGetPCIBusId", Optional: true},
	gpu.CallCanAccessPeer:   {Name: "cuDeviceCanAccessPeer", Optional: true},
	gpu.CallRetain:          {Name: "cuDevicePrimaryCtxRetain"},
	gpu.CallRelease:         {Name: "cuDevicePrimaryCtxRelease_v2"},
	gpu.CallMakeCurrent:     {Name: "cuCtxSetCurrent"},
	gpu.CallPeerEnable:      {Name: "cuCtxEnablePeerAccess", Optional: true},
	gpu.CallMemInfo:         {Name: "cuMemGetInfo_v2"},
	gpu.CallMemAlloc:        {Name: "cuMemAlloc_v2"},
	gpu.CallMemFree:         {Name: "cuMemFree_v2"},
	gpu.CallHostAlloc:       {Name: "cuMemHostAlloc"},
	gpu.CallHostFree:        {Name: "cuMemFreeHost"},
	gpu.CallHostRegister:    {Name: "cuMemHostRegister_v2", Optional: true},
	gpu.CallHostUnregister:  {Name: "cuMemHostUnregister", Optional: true},
	gpu.CallHostAddr:        {Name: "cuMemHostGetDevicePointer_v2"},
	gpu.CallManagedAlloc:    {Name: "cuMemAllocManaged", Optional: true},
	gpu.CallAllocAsync:      {Name: "cuMemAllocAsync", Optional: true},
	gpu.CallFreeAsync:       {Name: "cuMemFreeAsync", Optional: true},
	gpu.CallAddressRange:    {Name: "cuMemGetAddressRange_v2", Optional: true},
	gpu.CallPointer:         {Name: "cuPointerGetAttribute", Optional: true},
	gpu.CallCopyIn:          {Name: "cuMemcpyHtoDAsync_v2"},
	gpu.CallCopyOut:         {Name: "cuMemcpyDtoHAsync_v2"},
	gpu.CallCopyDevice:      {Name: "cuMemcpyDtoDAsync_v2"},
	gpu.CallCopyAny:         {Name: "cuMemcpyAsync"},
	gpu.CallCopyPeer:        {Name: "cuMemcpyPeerAsync", Optional: true},
	gpu.CallCopy2D:          {Name: "cuMemcpy2DAsync_v2", Optional: true},
	gpu.CallFill8:           {Name: "cuMemsetD8Async"},
	gpu.CallFill16:          {Name: "cuMemsetD16Async"},
	gpu.CallFill32:          {Name: "cuMemsetD32Async"},
	gpu.CallPrefetch:        {Name: "cuMemPrefetchAsync", Optional: true},
	gpu.CallStreamCreate:    {Name: "cuStreamCreateWithPriority"},
	gpu.CallStreamDestroy:   {Name: "cuStreamDestroy_v2"},
	gpu.CallStreamOwner:     {Name: "cuStreamGetCtx", Optional: true},
	gpu.CallStreamQuery:     {Name: "cuStreamQuery"},
	gpu.CallStreamSync:      {Name: "cuStreamSynchronize"},
	gpu.CallStreamWait:      {Name: "cuStreamWaitEvent"},
	gpu.CallWaitValue:       {Name: "cuStreamWaitValue32_v2", Optional: true},
	gpu.CallHostCall:        {Name: "cuLaunchHostFunc", Optional: true},
	gpu.CallEventCreate:     {Name: "cuEventCreate"},
	gpu.CallEventDestroy:    {Name: "cuEventDestroy_v2"},
	gpu.CallEventRecord:     {Name: "cuEventRecord"},
	gpu.CallEventQuery:      {Name: "cuEventQuery"},
	gpu.CallEventSync:       {Name: "cuEventSynchronize"},
	gpu.CallEventElapsed:    {Name: "cuEventElapsedTime"},
	gpu.CallIPCExport:       {Name: "cuIpcGetMemHandle", Optional: true},
	gpu.CallIPCOpen:         {Name: "cuIpcOpenMemHandle_v2", Optional: true},
	gpu.CallIPCClose:        {Name: "cuIpcCloseMemHandle", Optional: true},

	// Words to wait for are page-locked memory like any other.
	gpu.CallSignalAlloc: {},
}

// entry is the CUhostFn that cuLaunchHostFunc calls: one argument, the user data.
var entry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

func load(lib *dl.Library) (*gpu.Table, error) { return gpu.NewTable(lib, &symbols, entry()) }
