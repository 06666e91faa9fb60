#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. 15: the largest window; 32: gzip and zlib, told apart by their
// headers.
static inline int roster_inflate_init(z_stream *stream) { return inflateInit2(stream, 15 + 32); }
