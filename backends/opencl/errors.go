//go:build opencl

package opencl

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

// status is an OpenCL status code. Negative codes are errors.
type status int32

const (
	success         status = 0
	deviceNotFound  status = -1
	noPlatform      status = -1001
	failedWaitEvent status = -14
	outOfResources  status = -5
	invalidValue    status = -30
	invalidBinary   status = -42
	invalidOptions  status = -43
	invalidArgSize  status = -51
)

// known is one status that OpenCL or an extension defines.
type known struct {
	code status
	name string
	kind error
}

// statuses lists every status of CL/cl.h and of the extensions' headers, with its kind of
// error. If a code has two meanings, the kind is the more general of the two.
var statuses = []known{
	{-1, "CL_DEVICE_NOT_FOUND", driver.ErrUnavailable},
	{-2, "CL_DEVICE_NOT_AVAILABLE", driver.ErrUnavailable},
	{-3, "CL_COMPILER_NOT_AVAILABLE", driver.ErrUnsupported},
	{-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE", driver.ErrOutOfMemory},
	{-5, "CL_OUT_OF_RESOURCES", driver.ErrOutOfMemory},
	{-6, "CL_OUT_OF_HOST_MEMORY", driver.ErrOutOfMemory},
	{-7, "CL_PROFILING_INFO_NOT_AVAILABLE", driver.ErrNotReady},
	{-8, "CL_MEM_COPY_OVERLAP", driver.ErrOverlap},
	{-9, "CL_IMAGE_FORMAT_MISMATCH", driver.ErrInvalidArgument},
	{-10, "CL_IMAGE_FORMAT_NOT_SUPPORTED", driver.ErrUnsupported},
	{-11, "CL_BUILD_PROGRAM_FAILURE", driver.ErrBuild},
	{-12, "CL_MAP_FAILURE", driver.ErrOutOfMemory},
	{-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET", driver.ErrMisaligned},
	{-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", driver.ErrDriver},
	{-15, "CL_COMPILE_PROGRAM_FAILURE", driver.ErrBuild},
	{-16, "CL_LINKER_NOT_AVAILABLE", driver.ErrUnsupported},
	{-17, "CL_LINK_PROGRAM_FAILURE", driver.ErrBuild},
	{-18, "CL_DEVICE_PARTITION_FAILED", driver.ErrUnsupported},
	{-19, "CL_KERNEL_ARG_INFO_NOT_AVAILABLE", driver.ErrUnsupported},
	{-30, "CL_INVALID_VALUE", driver.ErrInvalidArgument},
	{-31, "CL_INVALID_DEVICE_TYPE", driver.ErrInvalidArgument},
	{-32, "CL_INVALID_PLATFORM", driver.ErrInvalidArgument},
	{-33, "CL_INVALID_DEVICE", driver.ErrWrongDevice},
	{-34, "CL_INVALID_CONTEXT", driver.ErrWrongDevice},
	{-35, "CL_INVALID_QUEUE_PROPERTIES", driver.ErrUnsupported},
	{-36, "CL_INVALID_COMMAND_QUEUE", driver.ErrInvalidArgument},
	{-37, "CL_INVALID_HOST_PTR", driver.ErrInvalidArgument},
	{-38, "CL_INVALID_MEM_OBJECT", driver.ErrInvalidArgument},
	{-39, "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR", driver.ErrInvalidArgument},
	{-40, "CL_INVALID_IMAGE_SIZE", driver.ErrInvalidArgument},
	{-41, "CL_INVALID_SAMPLER", driver.ErrInvalidArgument},
	{-42, "CL_INVALID_BINARY", driver.ErrInvalidArgument},
	{-43, "CL_INVALID_BUILD_OPTIONS", driver.ErrInvalidArgument},
	{-44, "CL_INVALID_PROGRAM", driver.ErrInvalidArgument},
	{-45, "CL_INVALID_PROGRAM_EXECUTABLE", driver.ErrInvalidArgument},
	{-46, "CL_INVALID_KERNEL_NAME", driver.ErrNotFound},
	{-47, "CL_INVALID_KERNEL_DEFINITION", driver.ErrInvalidArgument},
	{-48, "CL_INVALID_KERNEL", driver.ErrInvalidArgument},
	{-49, "CL_INVALID_ARG_INDEX", driver.ErrInvalidArgument},
	{-50, "CL_INVALID_ARG_VALUE", driver.ErrInvalidArgument},
	{-51, "CL_INVALID_ARG_SIZE", driver.ErrInvalidArgument},
	{-52, "CL_INVALID_KERNEL_ARGS", driver.ErrInvalidArgument},
	{-53, "CL_INVALID_WORK_DIMENSION", driver.ErrInvalidArgument},
	{-54, "CL_INVALID_WORK_GROUP_SIZE", driver.ErrInvalidArgument},
	{-55, "CL_INVALID_WORK_ITEM_SIZE", driver.ErrInvalidArgument},
	{-56, "CL_INVALID_GLOBAL_OFFSET", driver.ErrInvalidArgument},
	{-57, "CL_INVALID_EVENT_WAIT_LIST", driver.ErrInvalidArgument},
	{-58, "CL_INVALID_EVENT", driver.ErrInvalidArgument},
	{-59, "CL_INVALID_OPERATION", driver.ErrUnsupported},
	{-60, "CL_INVALID_GL_OBJECT", driver.ErrInvalidArgument},
	// The backend requests only sizes up to the device's limit. If the driver refuses such a size,
	// the memory is short.
	{-61, "CL_INVALID_BUFFER_SIZE", driver.ErrOutOfMemory},
	{-62, "CL_INVALID_MIP_LEVEL", driver.ErrInvalidArgument},
	{-63, "CL_INVALID_GLOBAL_WORK_SIZE", driver.ErrInvalidArgument},
	{-64, "CL_INVALID_PROPERTY", driver.ErrInvalidArgument},
	{-65, "CL_INVALID_IMAGE_DESCRIPTOR", driver.ErrInvalidArgument},
	{-66, "CL_INVALID_COMPILER_OPTIONS", driver.ErrInvalidArgument},
	{-67, "CL_INVALID_LINKER_OPTIONS", driver.ErrInvalidArgument},
	{-68, "CL_INVALID_DEVICE_PARTITION_COUNT", driver.ErrInvalidArgument},
	{-69, "CL_INVALID_PIPE_SIZE", driver.ErrInvalidArgument},
	{-70, "CL_INVALID_DEVICE_QUEUE", driver.ErrInvalidArgument},
	{-71, "CL_INVALID_SPEC_ID", driver.ErrInvalidArgument},
	{-72, "CL_MAX_SIZE_RESTRICTION_EXCEEDED", driver.ErrOutOfRange},

	{-1000, "CL_INVALID_GL_SHAREGROUP_REFERENCE_KHR", driver.ErrInvalidArgument},
	{-1001, "CL_PLATFORM_NOT_FOUND_KHR", driver.ErrUnavailable},
	{-1002, "CL_INVALID_D3D10_DEVICE_KHR", driver.ErrInvalidArgument},
	{-1003, "CL_INVALID_D3D10_RESOURCE_KHR", driver.ErrInvalidArgument},
	{-1004, "CL_D3D10_RESOURCE_ALREADY_ACQUIRED_KHR", driver.ErrBusy},
	{-1005, "CL_D3D10_RESOURCE_NOT_ACQUIRED_KHR", driver.ErrInvalidArgument},
	{-1006, "CL_INVALID_D3D11_DEVICE_KHR", driver.ErrInvalidArgument},
	{-1007, "CL_INVALID_D3D11_RESOURCE_KHR", driver.ErrInvalidArgument},
	{-1008, "CL_D3D11_RESOURCE_ALREADY_ACQUIRED_KHR", driver.ErrBusy},
	{-1009, "CL_D3D11_RESOURCE_NOT_ACQUIRED_KHR", driver.ErrInvalidArgument},
	{-1010, "CL_INVALID_DX9_MEDIA_ADAPTER_KHR", driver.ErrInvalidArgument},
	{-1011, "CL_INVALID_DX9_MEDIA_SURFACE_KHR", driver.ErrInvalidArgument},
	{-1012, "CL_DX9_MEDIA_SURFACE_ALREADY_ACQUIRED_KHR", driver.ErrBusy},
	{-1013, "CL_DX9_MEDIA_SURFACE_NOT_ACQUIRED_KHR", driver.ErrInvalidArgument},
	{-1057, "CL_DEVICE_PARTITION_FAILED_EXT", driver.ErrUnsupported},
	{-1058, "CL_INVALID_PARTITION_COUNT_EXT", driver.ErrInvalidArgument},
	{-1059, "CL_INVALID_PARTITION_NAME_EXT", driver.ErrInvalidArgument},
	{-1092, "CL_EGL_RESOURCE_NOT_ACQUIRED_KHR", driver.ErrInvalidArgument},
	{-1093, "CL_INVALID_EGL_OBJECT_KHR", driver.ErrInvalidArgument},
	{-1094, "CL_INVALID_ACCELERATOR_INTEL", driver.ErrInvalidArgument},
	{-1095, "CL_INVALID_ACCELERATOR_TYPE_INTEL", driver.ErrInvalidArgument},
	{-1096, "CL_INVALID_ACCELERATOR_DESCRIPTOR_INTEL", driver.ErrInvalidArgument},
	{-1097, "CL_ACCELERATOR_TYPE_NOT_SUPPORTED_INTEL", driver.ErrUnsupported},
	{-1098, "CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL", driver.ErrInvalidArgument},
	{-1099, "CL_INVALID_VA_API_MEDIA_SURFACE_INTEL", driver.ErrInvalidArgument},
	{-1100, "CL_VA_API_MEDIA_SURFACE_ALREADY_ACQUIRED_INTEL", driver.ErrBusy},
	{-1101, "CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL", driver.ErrInvalidArgument},
	{-1108, "CL_COMMAND_TERMINATED_ITSELF_WITH_FAILURE_ARM", driver.ErrDriver},
	{-1121, "CL_CONTEXT_TERMINATED_KHR", driver.ErrDeviceLost},
	{-1138, "CL_INVALID_COMMAND_BUFFER_KHR", driver.ErrInvalidArgument},
	{-1139, "CL_INVALID_SYNC_POINT_WAIT_LIST_KHR", driver.ErrInvalidArgument},
	{-1140, "CL_INCOMPATIBLE_COMMAND_QUEUE_KHR", driver.ErrInvalidArgument},
	{-1141, "CL_INVALID_MUTABLE_COMMAND_KHR", driver.ErrInvalidArgument},
	{-1142, "CL_INVALID_SEMAPHORE_KHR", driver.ErrInvalidArgument},
	// This code is in no header. NVIDIA's runtime returns it from all calls after a kernel has read
	// or written an illegal address.
	{-9999, "CL_NV_ILLEGAL_BUFFER_READ_OR_WRITE", driver.ErrDeviceLost},
}

func (st status) known() known {
	for _, k := range statuses {
		if k.code == st {
			return k
		}
	}
	return known{st, fmt.Sprintf("status %d", st), driver.ErrDriver}
}

// failure returns the error for a status. device is an ordinal or -1.
func failure(op string, device int, api string, st status) *driver.Error {
	k := st.known()
	return &driver.Error{Op: op, Backend: backendName, Device: device, Kind: k.kind,
		Vendor: driver.Vendor{API: api, Name: k.name, Code: int64(st)}}
}

// refusal returns an error that the backend itself detected.
func refusal(op string, device int, kind error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: op, Backend: backendName, Device: device, Kind: kind,
		Detail: fmt.Sprintf(format, args...)}
}

// VendorCodes lists every error status for which the backend has a name, in descending order.
func (b *Backend) VendorCodes() []int64 {
	codes := make([]int64, len(statuses))
	for i, k := range statuses {
		codes[i] = int64(k.code)
	}
	slices.SortFunc(codes, func(a, b int64) int { return int(b - a) })
	return codes
}

// VendorError returns the error with which the backend reports a status. An unknown status is of
// kind ErrDriver.
func (b *Backend) VendorError(api string, code int64) error {
	return failure("vendor call", -1, api, status(code))
}
