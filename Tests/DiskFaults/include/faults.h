// The library replaces functions of the C library, so it declares none. SwiftPM requires a header.
