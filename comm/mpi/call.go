package mpi

import "github.com/go-halyard/halyard/internal/dl"

// calls are the functions of MPI that the engine uses. Those whose names end in _c, new in MPI 4.0, take counts of 64 bits.
type calls struct {
	AbiGetVersion     dl.Proc `sym:"MPI_Abi_get_version,optional"`
	GetLibraryVersion dl.Proc `sym:"MPI_Get_library_version"`
	GetVersion        dl.Proc `sym:"MPI_Get_version"`
	Initialized       dl.Proc `sym:"MPI_Initialized"`
	Finalized         dl.Proc `sym:"MPI_Finalized"`
	QueryThread       dl.Proc `sym:"MPI_Query_thread"`
	InitThread        dl.Proc `sym:"MPI_Init_thread"`
	Finalize          dl.Proc `sym:"MPI_Finalize"`
	Abort             dl.Proc `sym:"MPI_Abort"`
	ErrorClass        dl.Proc `sym:"MPI_Error_class"`
	ErrorString       dl.Proc `sym:"MPI_Error_string"`

	CommRank          dl.Proc `sym:"MPI_Comm_rank"`
	CommSize          dl.Proc `sym:"MPI_Comm_size"`
	CommDup           dl.Proc `sym:"MPI_Comm_dup"`
	CommSplit         dl.Proc `sym:"MPI_Comm_split"`
	CommSplitType     dl.Proc `sym:"MPI_Comm_split_type"`
	CommFree          dl.Proc `sym:"MPI_Comm_free"`
	CommSetErrhandler dl.Proc `sym:"MPI_Comm_set_errhandler"`
	CommGetAttr       dl.Proc `sym:"MPI_Comm_get_attr"`
	CommGetInfo       dl.Proc `sym:"MPI_Comm_get_info"`
	CommRevoke        dl.Proc `sym:"MPIX_Comm_revoke,optional"`
	InfoGet           dl.Proc `sym:"MPI_Info_get,optional"`
	InfoFree          dl.Proc `sym:"MPI_Info_free"`

	TypeSize         dl.Proc `sym:"MPI_Type_size"`
	TypeContiguous   dl.Proc `sym:"MPI_Type_contiguous"`
	TypeCreateStruct dl.Proc `sym:"MPI_Type_create_struct"`
	TypeCommit       dl.Proc `sym:"MPI_Type_commit"`
	TypeFree         dl.Proc `sym:"MPI_Type_free"`

	OpCreate    dl.Proc `sym:"MPI_Op_create"`
	ReduceLocal dl.Proc `sym:"MPI_Reduce_local"`

	Isend         dl.Proc `sym:"MPI_Isend"`
	IsendC        dl.Proc `sym:"MPI_Isend_c,optional"`
	Irecv         dl.Proc `sym:"MPI_Irecv"`
	IrecvC        dl.Proc `sym:"MPI_Irecv_c,optional"`
	Iprobe        dl.Proc `sym:"MPI_Iprobe"`
	Test          dl.Proc `sym:"MPI_Test"`
	Testsome      dl.Proc `sym:"MPI_Testsome"`
	Cancel        dl.Proc `sym:"MPI_Cancel"`
	TestCancelled dl.Proc `sym:"MPI_Test_cancelled"`
	RequestFree   dl.Proc `sym:"MPI_Request_free"`
	GetElements   dl.Proc `sym:"MPI_Get_elements_x,MPI_Get_elements_c"`

	Ibarrier        dl.Proc `sym:"MPI_Ibarrier"`
	Ibcast          dl.Proc `sym:"MPI_Ibcast"`
	Ireduce         dl.Proc `sym:"MPI_Ireduce"`
	IreduceC        dl.Proc `sym:"MPI_Ireduce_c,optional"`
	Iallreduce      dl.Proc `sym:"MPI_Iallreduce"`
	IallreduceC     dl.Proc `sym:"MPI_Iallreduce_c,optional"`
	Iscan           dl.Proc `sym:"MPI_Iscan"`
	IscanC          dl.Proc `sym:"MPI_Iscan_c,optional"`
	Iexscan         dl.Proc `sym:"MPI_Iexscan"`
	IexscanC        dl.Proc `sym:"MPI_Iexscan_c,optional"`
	IreduceScatter  dl.Proc `sym:"MPI_Ireduce_scatter"`
	IreduceScatterC dl.Proc `sym:"MPI_Ireduce_scatter_c,optional"`
	Igather         dl.Proc `sym:"MPI_Igather"`
	IgatherC        dl.Proc `sym:"MPI_Igather_c,optional"`
	Igatherv        dl.Proc `sym:"MPI_Igatherv"`
	IgathervC       dl.Proc `sym:"MPI_Igatherv_c,optional"`
	Iscatter        dl.Proc `sym:"MPI_Iscatter"`
	IscatterC       dl.Proc `sym:"MPI_Iscatter_c,optional"`
	Iscatterv       dl.Proc `sym:"MPI_Iscatterv"`
	IscattervC      dl.Proc `sym:"MPI_Iscatterv_c,optional"`
	Iallgather      dl.Proc `sym:"MPI_Iallgather"`
	IallgatherC     dl.Proc `sym:"MPI_Iallgather_c,optional"`
	Iallgatherv     dl.Proc `sym:"MPI_Iallgatherv"`
	IallgathervC    dl.Proc `sym:"MPI_Iallgatherv_c,optional"`
	Ialltoall       dl.Proc `sym:"MPI_Ialltoall"`
	IalltoallC      dl.Proc `sym:"MPI_Ialltoall_c,optional"`
	Ialltoallv      dl.Proc `sym:"MPI_Ialltoallv"`
	IalltoallvC     dl.Proc `sym:"MPI_Ialltoallv_c,optional"`

	QueryCUDA dl.Proc `sym:"MPIX_Query_cuda_support,optional"`
	QueryROCm dl.Proc `sym:"MPIX_Query_rocm_support,MPIX_Query_hip_support,optional"`
}
