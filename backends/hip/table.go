//go:build hip

package hip

import (
	"sync"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
)

// symbols are the names that the runtime exports.
var symbols = gpu.Symbols{
	gpu.CallInit:            {Name: "hipInit"},
	gpu.CallVersion:         {Name: "hipRuntimeGetVersion"},
	gpu.CallDeviceCount:     {Name: "hipGetDeviceCount"},
	gpu.CallDeviceGet:       {Name: "hipDeviceGet"},
	gpu.CallDeviceName:      {Name: "hipDeviceGetName"},
	gpu.CallDeviceTotal:     {Name: "hipDeviceTotalMem"},
	gpu.CallDeviceAttribute: {Name: "hipDeviceGetAttribute"},
	gpu.CallDeviceUUID:      {Name: "hipDeviceGetUuid", Optional: true},
	gpu.CallDeviceBus:       {Name: "hipDeviceGetPCIBusId", Optional: true},
	gpu.CallCanAccessPeer:   {Name: "hipDeviceCanAccessPeer", Optional: true},
	gpu.CallMakeCurrent:     {Name: "hipSetDevice"},
	gpu.CallPeerEnable:      {Name: "hipDeviceEnablePeerAccess", Optional: true},
	gpu.CallMemInfo:         {Name: "hipMemGetInfo"},
	gpu.CallMemAlloc:        {Name: "hipMalloc"},
	gpu.CallMemFree:         {Name: "hipFree"},
	gpu.CallHostAlloc:       {Name: "hipHostMalloc"},
	gpu.CallHostFree:        {Name: "hipHostFree"},
	gpu.CallHostRegister:    {Name: "hipHostRegister", Optional: true},
	gpu.CallHostUnregister:  {Name: "hipHostUnregister", Optional: true},
	gpu.CallHostAddr:        {Name: "hipHostGetDevicePointer"},
	gpu.CallManagedAlloc:    {Name: "hipMallocManaged", Optional: true},
	gpu.CallAllocAsync:      {Name: "hipMallocAsync", Optional: true},
	gpu.CallFreeAsync:       {Name: "hipFreeAsync", Optional: true},
	gpu.CallAddressRange:    {Name: "hipMemGetAddressRange", Optional: true},
	gpu.CallPointer:         {Name: "hipPointerGetAttribute", Optional: true},
	gpu.CallCopyIn:          {Name: "hipMemcpyHtoDAsync"},
	gpu.CallCopyOut:         {Name: "hipMemcpyDtoHAsync"},
	gpu.CallCopyDevice:      {Name: "hipMemcpyDtoDAsync"},
	gpu.CallCopyAny:         {Name: "hipMemcpyAsync"},
	gpu.CallCopyPeer:        {Name: "hipMemcpyPeerAsync", Optional: true},
	gpu.CallCopy2D:          {Name: "hipMemcpy2DAsync", Optional: true},
	gpu.CallFill8:           {Name: "hipMemsetD8Async"},
	gpu.CallFill16:          {Name: "hipMemsetD16Async"},
	gpu.CallFill32:          {Name: "hipMemsetD32Async"},
	gpu.CallPrefetch:        {Name: "hipMemPrefetchAsync", Optional: true},
	gpu.CallStreamCreate:    {Name: "hipStreamCreateWithPriority"},
	gpu.CallStreamDestroy:   {Name: "hipStreamDestroy"},
	gpu.CallStreamOwner:     {Name: "hipStreamGetDevice", Optional: true},
	gpu.CallStreamQuery:     {Name: "hipStreamQuery"},
	gpu.CallStreamSync:      {Name: "hipStreamSynchronize"},
	gpu.CallStreamWait:      {Name: "hipStreamWaitEvent"},
	gpu.CallSignalAlloc:     {Name: "hipExtMallocWithFlags", Optional: true},
	gpu.CallWaitValue:       {Name: "hipStreamWaitValue32", Optional: true},
	gpu.CallHostCall:        {Name: "hipLaunchHostFunc", Optional: true},
	gpu.CallEventCreate:     {Name: "hipEventCreateWithFlags"},
	gpu.CallEventDestroy:    {Name: "hipEventDestroy"},
	gpu.CallEventRecord:     {Name: "hipEventRecord"},
	gpu.CallEventQuery:      {Name: "hipEventQuery"},
	gpu.CallEventSync:       {Name: "hipEventSynchronize"},
	gpu.CallEventElapsed:    {Name: "hipEventElapsedTime"},
	gpu.CallIPCExport:       {Name: "hipIpcGetMemHandle", Optional: true},
	gpu.CallIPCOpen:         {Name: "hipIpcOpenMemHandle", Optional: true},
	gpu.CallIPCClose:        {Name: "hipIpcCloseMemHandle", Optional: true},

	// A device's context belongs to the process and needs no holding.
	gpu.CallRetain:  {},
	gpu.CallRelease: {},
}

// callback is what the runtime exports instead of hipLaunchHostFunc before ROCm 5.3.
const callback = "hipStreamAddCallback"

// entry is the hipHostFn_t that hipLaunchHostFunc calls: one argument, the user data.
var entry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

// oldEntry is the hipStreamCallback_t that hipStreamAddCallback calls: the stream, its status
// and the user data.
var oldEntry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(3, 2) })
