import Glibc

/// FUZZ_TARGET names the target, because libFuzzer owns the command line. libFuzzer passes the variable on when it
/// restarts itself to merge or to minimize (llvm.org/docs/LibFuzzer.html).
private let check: (@Sendable ([UInt8]) -> Void)? =
  switch getenv("FUZZ_TARGET").map({ String(cString: $0) }) {
  case "record": RecordTarget.check
  case "paging": PagingTarget.check
  case "token": TokenTarget.check
  case "pause": PauseTarget.check
  case "json": JSONTarget.check
  case "toml": TOMLTarget.check
  case "http": HTTPTarget.check
  case "events": EventsTarget.check
  default: nil
  }

/// `--read json|toml FILE…` prints how rosterd reads files, for `agree`.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafePointer<CInt>?, _ values: UnsafeRawPointer?) -> CInt {
  let arguments = CommandLine.arguments
  if arguments.count > 2, arguments[1] == "--read" {
    for path in arguments[3...] { print(Reading.of(path, as: arguments[2])) }
    exit(EXIT_SUCCESS)
  }
  promise(check != nil, "FUZZ_TARGET must be one of the folders of Fuzz/Corpus")
  return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func test(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  // A copy of the exact size, so that the address sanitizer knows its end.
  check?(Array(UnsafeBufferPointer(start: data, count: size)))
  return 0
}

/// Ends the process if the promise is broken; libFuzzer then keeps the input.
func promise(_ holds: Bool, _ what: @autoclosure () -> String) {
  if !holds { fatalError(what()) }
}

/// Runs code that must not throw.
func certain<Value>(_ what: String, _ body: () throws -> Value) -> Value {
  do { return try body() } catch { fatalError("\(what): \(error)") }
}
