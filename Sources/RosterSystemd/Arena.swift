import CSystemd

/// Makes all threads allocate from one arena (mallopt(3)). Otherwise each thread has an arena of its own, which keeps
/// the memory that was freed in it. Few threads of rosterd allocate at the same time.
package func shareArena() {
  mallopt(M_ARENA_MAX, 1)
}
