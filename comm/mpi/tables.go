package mpi

// object is a handle that every library has from the start.
type object int

const (
	commWorld object = iota
	commSelf
	commNull
	requestNull
	errorsReturn
	infoNull
	typeByte
	typeInt8
	typeInt16
	typeInt32
	typeInt64
	typeUint8
	typeUint16
	typeUint32
	typeUint64
	typeFloat32
	typeFloat64
	typeComplex64
	typeComplex128
	opSum
	opProd
	opMin
	opMax
	opBand
	opBor
	opBxor
	objects
)

// handles has the values of predefined handles. In Open MPI a handle is the address of an exported object.
var handles = [objects]struct {
	name            string
	mpich, standard uintptr
	openmpi         string
}{
	commWorld:      {"MPI_COMM_WORLD", 0x44000000, 0x101, "ompi_mpi_comm_world"},
	commSelf:       {"MPI_COMM_SELF", 0x44000001, 0x102, "ompi_mpi_comm_self"},
	commNull:       {"MPI_COMM_NULL", 0x04000000, 0x100, "ompi_mpi_comm_null"},
	requestNull:    {"MPI_REQUEST_NULL", 0x2c000000, 0x180, "ompi_request_null"},
	errorsReturn:   {"MPI_ERRORS_RETURN", 0x54000001, 0x143, "ompi_mpi_errors_return"},
	infoNull:       {"MPI_INFO_NULL", 0x1c000000, 0x130, "ompi_mpi_info_null"},
	typeByte:       {"MPI_BYTE", 0x4c00010d, 0x247, "ompi_mpi_byte"},
	typeInt8:       {"MPI_INT8_T", 0x4c000137, 0x240, "ompi_mpi_int8_t"},
	typeInt16:      {"MPI_INT16_T", 0x4c000238, 0x248, "ompi_mpi_int16_t"},
	typeInt32:      {"MPI_INT32_T", 0x4c000439, 0x250, "ompi_mpi_int32_t"},
	typeInt64:      {"MPI_INT64_T", 0x4c00083a, 0x258, "ompi_mpi_int64_t"},
	typeUint8:      {"MPI_UINT8_T", 0x4c00013b, 0x241, "ompi_mpi_uint8_t"},
	typeUint16:     {"MPI_UINT16_T", 0x4c00023c, 0x249, "ompi_mpi_uint16_t"},
	typeUint32:     {"MPI_UINT32_T", 0x4c00043d, 0x251, "ompi_mpi_uint32_t"},
	typeUint64:     {"MPI_UINT64_T", 0x4c00083e, 0x259, "ompi_mpi_uint64_t"},
	typeFloat32:    {"MPI_FLOAT", 0x4c00040a, 0x210, "ompi_mpi_float"},
	typeFloat64:    {"MPI_DOUBLE", 0x4c00080b, 0x214, "ompi_mpi_double"},
	typeComplex64:  {"MPI_C_FLOAT_COMPLEX", 0x4c000840, 0x212, "ompi_mpi_c_float_complex"},
	typeComplex128: {"MPI_C_DOUBLE_COMPLEX", 0x4c001041, 0x216, "ompi_mpi_c_double_complex"},
	opSum:          {"MPI_SUM", 0x58000003, 0x21, "ompi_mpi_op_sum"},
	opProd:         {"MPI_PROD", 0x58000004, 0x24, "ompi_mpi_op_prod"},
	opMin:          {"MPI_MIN", 0x58000002, 0x22, "ompi_mpi_op_min"},
	opMax:          {"MPI_MAX", 0x58000001, 0x23, "ompi_mpi_op_max"},
	opBand:         {"MPI_BAND", 0x58000006, 0x28, "ompi_mpi_op_band"},
	opBor:          {"MPI_BOR", 0x58000008, 0x29, "ompi_mpi_op_bor"},
	opBxor:         {"MPI_BXOR", 0x5800000a, 0x2a, "ompi_mpi_op_bxor"},
}

// number is a constant that has an integer value.
type number int

const (
	anySource number = iota
	anyTag
	undefined
	commTypeShared
	threadSerialized
	threadMultiple
	tagUB
	maxErrorString
	numbers
)

var values = [numbers]struct {
	name                     string
	openmpi, mpich, standard int
}{
	anySource:        {"MPI_ANY_SOURCE", -1, -2, -1},
	anyTag:           {"MPI_ANY_TAG", -1, -1, -2},
	undefined:        {"MPI_UNDEFINED", -32766, -32766, -32766},
	commTypeShared:   {"MPI_COMM_TYPE_SHARED", 0, 1, 221},
	threadSerialized: {"MPI_THREAD_SERIALIZED", 2, 2, 2048},
	threadMultiple:   {"MPI_THREAD_MULTIPLE", 3, 3, 4096},
	tagUB:            {"MPI_TAG_UB", 0, 0x64400001, 501},
	maxErrorString:   {"MPI_MAX_ERROR_STRING", 256, 512, 512},
}

// errorClass is an error class of MPI. Each ABI has its own values for them; see classValues.
type errorClass int

// The error classes that the engine distinguishes. classUnlisted is any other.
const (
	classNone errorClass = iota
	classBuffer
	classCount
	classType
	classTag
	classComm
	classRank
	classRequest
	classRoot
	classGroup
	classOp
	classArg
	classUnknown
	classTruncate
	classOther
	classIntern
	classInStatus
	classPending
	classNoMem
	classProcAborted
	classProcFailed
	classProcFailedPending
	classRevoked
	classes
	classUnlisted errorClass = -1
)

// none is the value of a class that the ABI does not have.
const none = -1

var classValues = [classes]struct {
	name                     string
	openmpi, mpich, standard int
}{
	classNone:              {"MPI_SUCCESS", 0, 0, 0},
	classBuffer:            {"MPI_ERR_BUFFER", 1, 1, 1},
	classCount:             {"MPI_ERR_COUNT", 2, 2, 2},
	classType:              {"MPI_ERR_TYPE", 3, 3, 3},
	classTag:               {"MPI_ERR_TAG", 4, 4, 4},
	classComm:              {"MPI_ERR_COMM", 5, 5, 5},
	classRank:              {"MPI_ERR_RANK", 6, 6, 6},
	classRequest:           {"MPI_ERR_REQUEST", 7, 19, 7},
	classRoot:              {"MPI_ERR_ROOT", 8, 7, 8},
	classGroup:             {"MPI_ERR_GROUP", 9, 8, 9},
	classOp:                {"MPI_ERR_OP", 10, 9, 10},
	classArg:               {"MPI_ERR_ARG", 13, 12, 13},
	classUnknown:           {"MPI_ERR_UNKNOWN", 14, 13, 14},
	classTruncate:          {"MPI_ERR_TRUNCATE", 15, 14, 15},
	classOther:             {"MPI_ERR_OTHER", 16, 15, 16},
	classIntern:            {"MPI_ERR_INTERN", 17, 16, 17},
	classInStatus:          {"MPI_ERR_IN_STATUS", 18, 17, 19},
	classPending:           {"MPI_ERR_PENDING", 19, 18, 18},
	classNoMem:             {"MPI_ERR_NO_MEM", 39, 34, 39},
	classProcAborted:       {"MPI_ERR_PROC_ABORTED", 74, 76, 58},
	classProcFailed:        {"MPI_ERR_PROC_FAILED", 75, 101, none},
	classProcFailedPending: {"MPI_ERR_PROC_FAILED_PENDING", 76, 102, none},
	classRevoked:           {"MPI_ERR_REVOKED", 77, 103, none},
}

func (a abiKind) number(n number) int {
	v := &values[n]
	return [...]int{abiOpenMPI: v.openmpi, abiMPICH: v.mpich, abiStandard: v.standard}[a]
}

// classOf returns the class that has the value in the ABI.
func (a abiKind) classOf(value int) errorClass {
	for c := range classes {
		if value == a.valueOf(c) {
			return c
		}
	}
	return classUnlisted
}

// valueOf returns the value of a class in the ABI, which may be none.
func (a abiKind) valueOf(c errorClass) int {
	v := &classValues[c]
	return [...]int{abiOpenMPI: v.openmpi, abiMPICH: v.mpich, abiStandard: v.standard}[a]
}
