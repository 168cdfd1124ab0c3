package mpi

import "github.com/go-halyard/halyard/internal/dl"

// calls are the functions of MPI that the engine uses. Those with counts of 64 bits, whose names end in _c, are not among them, because
// Open MPI 5 lacks them: with every library, a message that is too long for a C int is sent as longer elements (count.go).
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
	CommRevoke        dl.Proc `sym:"MPIX_Comm_revoke,optional"`

	TypeSize         dl.Proc `sym:"MPI_Type_size"`
	TypeContiguous   dl.Proc `sym:"MPI_Type_contiguous"`
	TypeCreateStruct dl.Proc `sym:"MPI_Type_create_struct"`
	TypeCommit       dl.Proc `sym:"MPI_Type_commit"`
	TypeFree         dl.Proc `sym:"MPI_Type_free"`

	OpCreate    dl.Proc `sym:"MPI_Op_create"`
	ReduceLocal dl.Proc `sym:"MPI_Reduce_local"`

	Isend         dl.Proc `sym:"MPI_Isend"`
	Irecv         dl.Proc `sym:"MPI_Irecv"`
	Iprobe        dl.Proc `sym:"MPI_Iprobe"`
	Improbe       dl.Proc `sym:"MPI_Improbe"`
	Imrecv        dl.Proc `sym:"MPI_Imrecv"`
	Test          dl.Proc `sym:"MPI_Test"`
	Testsome      dl.Proc `sym:"MPI_Testsome"`
	Cancel        dl.Proc `sym:"MPI_Cancel"`
	TestCancelled dl.Proc `sym:"MPI_Test_cancelled"`
	RequestFree   dl.Proc `sym:"MPI_Request_free"`
	GetElements   dl.Proc `sym:"MPI_Get_elements_x,MPI_Get_elements_c"`

	Ibarrier   dl.Proc `sym:"MPI_Ibarrier"`
	Ibcast     dl.Proc `sym:"MPI_Ibcast"`
	Ireduce    dl.Proc `sym:"MPI_Ireduce"`
	Iallreduce dl.Proc `sym:"MPI_Iallreduce"`
	Igather    dl.Proc `sym:"MPI_Igather"`
	Iscatter   dl.Proc `sym:"MPI_Iscatter"`
	Iallgather dl.Proc `sym:"MPI_Iallgather"`
	Ialltoall  dl.Proc `sym:"MPI_Ialltoall"`
	Igatherv   dl.Proc `sym:"MPI_Igatherv"`
	Iscatterv  dl.Proc `sym:"MPI_Iscatterv"`
	Ialltoallv dl.Proc `sym:"MPI_Ialltoallv"`
}
