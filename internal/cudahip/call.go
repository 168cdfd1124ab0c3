package cudahip

// Call identifies one function of a vendor's library.
type Call uint8

// The calls, in the order of [API]. API has no methods for CallMakeCurrent and CallStreamCallback.
const (
	CallInit Call = iota
	CallVersion
	CallDeviceCount
	CallDeviceGet
	CallDeviceName
	CallDeviceTotal
	CallDeviceAttribute
	CallDeviceUUID
	CallDeviceBus
	CallCanAccessPeer
	CallRetain
	CallRelease
	CallMakeCurrent
	CallPeerEnable
	CallMemInfo
	CallMemAlloc
	CallMemFree
	CallHostAlloc
	CallHostFree
	CallHostRegister
	CallHostUnregister
	CallHostAddr
	CallManagedAlloc
	CallAllocAsync
	CallFreeAsync
	CallAddressRange
	CallPointer
	CallCopyIn
	CallCopyOut
	CallCopyDevice
	CallCopyAny
	CallCopyPeer
	CallCopy2D
	CallFill8
	CallFill16
	CallFill32
	CallPrefetch
	CallAdvise
	CallStreamCreate
	CallStreamDestroy
	CallStreamOwner
	CallStreamQuery
	CallStreamSync
	CallStreamWait
	CallSignalAlloc
	CallWaitValue
	CallHostCall
	CallStreamCallback // an older form of CallHostCall, whose function also gets the stream and its status
	CallEventCreate
	CallEventDestroy
	CallEventRecord
	CallEventQuery
	CallEventSync
	CallEventElapsed
	CallIPCExport
	CallIPCOpen
	CallIPCClose
	CallDeviceProperties
	CallModuleLoad
	CallModuleUnload
	CallModuleKernel
	CallKernelAttribute
	CallKernelSet
	CallKernelParam
	CallKernelLoad
	CallOccupancy
	CallLaunch
	NumCalls
)

// Symbol is the name under which a library exports a call.
type Symbol struct {
	Name  string // "" if the vendor has no such call
	Older string // the name, in older libraries, of a call that takes the same arguments, or ""

	// Optional says that a library without the symbol is still usable: its devices then lack a
	// capability.
	Optional bool
}

// Symbols are the names of a vendor's calls.
type Symbols [NumCalls]Symbol
