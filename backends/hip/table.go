//go:build hip

package hip

import (
	"sync"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

// symbols are the names that the runtime exports.
var symbols = cudahip.Symbols{
	cudahip.CallInit:            {Name: "hipInit"},
	cudahip.CallVersion:         {Name: "hipRuntimeGetVersion"},
	cudahip.CallDeviceCount:     {Name: "hipGetDeviceCount"},
	cudahip.CallDeviceGet:       {Name: "hipDeviceGet"},
	cudahip.CallDeviceName:      {Name: "hipDeviceGetName"},
	cudahip.CallDeviceTotal:     {Name: "hipDeviceTotalMem"},
	cudahip.CallDeviceAttribute: {Name: "hipDeviceGetAttribute"},
	cudahip.CallDeviceUUID:      {Name: "hipDeviceGetUuid", Optional: true},
	cudahip.CallDeviceBus:       {Name: "hipDeviceGetPCIBusId", Optional: true},
	cudahip.CallCanAccessPeer:   {Name: "hipDeviceCanAccessPeer", Optional: true},
	cudahip.CallMakeCurrent:     {Name: "hipSetDevice"},
	cudahip.CallPeerEnable:      {Name: "hipDeviceEnablePeerAccess", Optional: true},
	cudahip.CallMemInfo:         {Name: "hipMemGetInfo"},
	cudahip.CallMemAlloc:        {Name: "hipMalloc"},
	cudahip.CallMemFree:         {Name: "hipFree"},
	cudahip.CallHostAlloc:       {Name: "hipHostMalloc"},
	cudahip.CallHostFree:        {Name: "hipHostFree"},
	cudahip.CallHostRegister:    {Name: "hipHostRegister", Optional: true},
	cudahip.CallHostUnregister:  {Name: "hipHostUnregister", Optional: true},
	cudahip.CallHostAddr:        {Name: "hipHostGetDevicePointer"},
	cudahip.CallManagedAlloc:    {Name: "hipMallocManaged", Optional: true},
	cudahip.CallAllocAsync:      {Name: "hipMallocAsync", Optional: true},
	cudahip.CallFreeAsync:       {Name: "hipFreeAsync", Optional: true},
	cudahip.CallAddressRange:    {Name: "hipMemGetAddressRange", Optional: true},
	cudahip.CallPointer:         {Name: "hipPointerGetAttribute", Optional: true},
	cudahip.CallCopyIn:          {Name: "hipMemcpyHtoDAsync"},
	cudahip.CallCopyOut:         {Name: "hipMemcpyDtoHAsync"},
	cudahip.CallCopyDevice:      {Name: "hipMemcpyDtoDAsync"},
	cudahip.CallCopyAny:         {Name: "hipMemcpyAsync"},
	cudahip.CallCopyPeer:        {Name: "hipMemcpyPeerAsync", Optional: true},
	cudahip.CallCopy2D:          {Name: "hipMemcpy2DAsync", Optional: true},
	cudahip.CallFill8:           {Name: "hipMemsetD8Async"},
	cudahip.CallFill16:          {Name: "hipMemsetD16Async"},
	cudahip.CallFill32:          {Name: "hipMemsetD32Async"},
	cudahip.CallPrefetch:        {Name: "hipMemPrefetchAsync", Optional: true},
	cudahip.CallAdvise:          {Name: "hipMemAdvise", Optional: true},
	cudahip.CallStreamCreate:    {Name: "hipStreamCreateWithPriority"},
	cudahip.CallStreamDestroy:   {Name: "hipStreamDestroy"},
	cudahip.CallStreamOwner:     {Name: "hipStreamGetDevice", Optional: true},
	cudahip.CallStreamQuery:     {Name: "hipStreamQuery"},
	cudahip.CallStreamSync:      {Name: "hipStreamSynchronize"},
	cudahip.CallStreamWait:      {Name: "hipStreamWaitEvent"},
	cudahip.CallSignalAlloc:     {Name: "hipExtMallocWithFlags", Optional: true},
	cudahip.CallWaitValue:       {Name: "hipStreamWaitValue32", Optional: true},
	cudahip.CallHostCall:        {Name: "hipLaunchHostFunc", Optional: true},
	cudahip.CallStreamCallback:  {Name: "hipStreamAddCallback", Optional: true},
	cudahip.CallEventCreate:     {Name: "hipEventCreateWithFlags"},
	cudahip.CallEventDestroy:    {Name: "hipEventDestroy"},
	cudahip.CallEventRecord:     {Name: "hipEventRecord"},
	cudahip.CallEventQuery:      {Name: "hipEventQuery"},
	cudahip.CallEventSync:       {Name: "hipEventSynchronize"},
	cudahip.CallEventElapsed:    {Name: "hipEventElapsedTime"},
	cudahip.CallIPCExport:       {Name: "hipIpcGetMemHandle", Optional: true},
	cudahip.CallIPCOpen:         {Name: "hipIpcOpenMemHandle", Optional: true},
	cudahip.CallIPCClose:        {Name: "hipIpcCloseMemHandle", Optional: true},

	// Name is the call since ROCm 6. Its structure differs from that of Older.
	cudahip.CallDeviceProperties: {Name: "hipGetDevicePropertiesR0600", Older: "hipGetDeviceProperties", Optional: true},

	cudahip.CallModuleLoad:      {Name: "hipModuleLoadData", Optional: true},
	cudahip.CallModuleUnload:    {Name: "hipModuleUnload", Optional: true},
	cudahip.CallModuleKernel:    {Name: "hipModuleGetFunction", Optional: true},
	cudahip.CallKernelAttribute: {Name: "hipFuncGetAttribute", Optional: true},
	cudahip.CallOccupancy:       {Name: "hipModuleOccupancyMaxPotentialBlockSize", Optional: true},
	cudahip.CallLaunch:          {Name: "hipModuleLaunchKernel", Optional: true},

	// The runtime keeps a device's context as long as the process runs, so nothing retains or
	// releases it.
	cudahip.CallRetain:  {},
	cudahip.CallRelease: {},
}

// entry is the hipHostFn_t that hipLaunchHostFunc calls: one argument, the user data.
var entry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(1, 0) })

// oldEntry is the hipStreamCallback_t that hipStreamAddCallback calls: the stream, its status
// and the user data.
var oldEntry = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(3, 2) })
