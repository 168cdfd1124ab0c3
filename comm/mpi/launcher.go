package mpi

import (
	"os"
	"strconv"
	"strings"
)

// maker is the project that made a library or a launcher. It decides whether the two work together.
type maker int

const (
	makerUnknown maker = iota
	makerOpenMPI
	makerMPICH
	makerIntel
)

func makerOf(text string) maker {
	switch {
	case strings.Contains(text, "Open MPI"):
		return makerOpenMPI
	case strings.Contains(text, "Intel"):
		return makerIntel
	case strings.Contains(text, "MPICH"), strings.Contains(text, "MVAPICH"):
		return makerMPICH
	}
	return makerUnknown
}

// launcher is what started this process as a part of a job.
type launcher struct {
	name  string // "" if there is none
	size  int    // of the job, 0 if it is not known
	maker maker
}

// detectLauncher reads the environment variables in which launchers describe the job to its processes.
func detectLauncher() launcher {
	size := func(name string) int {
		n, _ := strconv.Atoi(os.Getenv(name))
		return max(n, 0)
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if os.Getenv(name) != "" {
				return true
			}
		}
		return false
	}
	switch {
	case has("OMPI_COMM_WORLD_SIZE"):
		return launcher{"mpiexec of Open MPI", size("OMPI_COMM_WORLD_SIZE"), makerOpenMPI}
	case has("PALS_RANKID"):
		return launcher{"PALS of Cray", size("PMI_SIZE"), makerUnknown}
	case has("SLURM_STEP_NUM_TASKS") && has("SLURM_PROCID"):
		return launcher{"srun of Slurm", size("SLURM_STEP_NUM_TASKS"), makerUnknown}
	case has("PMI_SIZE") && has("PMI_FD", "PMI_PORT"):
		return launcher{"mpiexec of MPICH or Intel MPI (Hydra)", size("PMI_SIZE"), makerMPICH}
	}
	return launcher{}
}

// fits reports whether the launcher can start processes that use a library of maker m. If either maker is unknown, it is true.
func (l launcher) fits(m maker) bool {
	return l.maker == makerUnknown || m == makerUnknown || (l.maker == makerOpenMPI) == (m == makerOpenMPI)
}
