/*
 * If a CUDA driver is loaded, NVRTC asks it for a table of private functions, whatever the options.
 * If the call is missing, NVRTC reads address 0. If the call fails, NVRTC goes on compiling.
 */
#include "engine.h"

int cuGetExportTable(const void **table, const void *id);

int cuGetExportTable(const void **table, const void *id) {
    if (!table || !id)
        return E_VALUE;
    *table = NULL;
    return E_NOT_FOUND;
}
