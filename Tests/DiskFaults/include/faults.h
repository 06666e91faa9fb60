// Nothing to call: the library takes the place of the C library's own functions. SwiftPM wants a header.
