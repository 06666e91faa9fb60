import CMalloc

/// Makes all threads of this process share two arenas of glibc's malloc (mallopt(3)).
///
/// glibc gives each thread an arena of its own, up to eight per core, and one arena does not use what another has
/// freed. Here one thread at a time does most of the work, so that two arenas save 1 MiB and cost no time. Call this
/// before other threads exist, because an arena that exists stays.
package func limitMemoryArenas() { mallopt(M_ARENA_MAX, 2) }

/// Gives pages without a value back to the kernel (malloc_trim(3)). Call this after work that needed much memory.
package func returnFreeMemory() { malloc_trim(0) }
