// An OpenCL library that is the system's own, except that one platform does not list its devices before the test lets it.
#include <dlfcn.h>
#include <pthread.h>

typedef int (*platforms)(unsigned, void **, unsigned *);
typedef int (*devices)(void *, unsigned long, unsigned, void **, unsigned *);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int held = -1; // the platform, by its number in the library's list
static int asked;

static void *function(const char *name) { return dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), name); }

void hold(int platform) {
	pthread_mutex_lock(&lock);
	held = platform;
	asked = 0;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

void wait_until_asked(void) {
	pthread_mutex_lock(&lock);
	while (!asked)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

int clGetDeviceIDs(void *platform, unsigned long type, unsigned room, void **ids, unsigned *count) {
	void *all[64];
	unsigned n = 0;
	((platforms)function("clGetPlatformIDs"))(64, all, &n);
	pthread_mutex_lock(&lock);
	while (held >= 0 && held < n && all[held] == platform) {
		asked = 1;
		pthread_cond_broadcast(&changed);
		pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
	return ((devices)function("clGetDeviceIDs"))(platform, type, room, ids, count);
}
