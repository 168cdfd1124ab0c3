// Kokkos' DualView. Where the device's memory space is the host's there is nothing to copy.
#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

#include <string>

#include "report.h"

using View = Kokkos::DualView<unsigned char *>;

static void valid(size_t size)
{
	View v("v", size);
	v.modify_host();
	v.sync_device();
	TIMED("acquire-valid", size, 100000, v.sync_device());
}

static void ping_pong(size_t size, int rounds)
{
	View v("v", size);
	TIMED("ping-pong", size, rounds, {
		v.h_view(0)++;
		v.modify_host();
		v.sync_device();
		v.modify_device();
		v.sync_host();
	});
}

static void update(size_t size)
{
	View v("v", size);
	TIMED("update-1KiB", size, 1000, {
		for (int i = 0; i < 1024; i++)
			v.h_view(i) = 1;
		v.modify_host();
		v.sync_device();
	});
}

static void allocate(size_t size)
{
	TIMED("alloc-free", size, 500, {
		Kokkos::View<unsigned char *> v(Kokkos::view_alloc("v", Kokkos::WithoutInitializing), size);
	});
}

int main(int argc, char **argv)
{
	Kokkos::initialize(argc, argv);
	std::string version = std::to_string(KOKKOS_VERSION / 10000) + "." + std::to_string(KOKKOS_VERSION / 100 % 100) + "." +
			      std::to_string(KOKKOS_VERSION % 100);
	bool shared = std::is_same<View::t_dev::memory_space, View::t_host::memory_space>::value;
	head("Kokkos DualView", version.c_str(), View::execution_space::name(), "inlined by the compiler", shared);
	valid(1 << 20);
	ping_pong(1, 1000);
	ping_pong(1 << 20, 1000);
	ping_pong(64 << 20, 100);
	update(1 << 30);
	allocate(4 << 10);
	allocate(1 << 20);
	Kokkos::finalize();
	return 0;
}
