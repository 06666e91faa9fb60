#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. 15 is the largest window, and 32 accepts gzip and zlib by their
// headers.
static inline int roster_inflate_init(z_stream *stream) { return inflateInit2(stream, 15 + 32); }
