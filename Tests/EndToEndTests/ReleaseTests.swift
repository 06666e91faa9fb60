import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

/// The release binaries that `make build` produces.
@Suite struct ReleaseTests {
  @Test("The release does not contain ICU, which full Foundation needs, and is under 36 MB")
  func size() async throws {
    let path = Program.productFolder + "/../release/rosterd"
    guard let binary = FileManager.default.contents(atPath: path) else {
      try skip("the release is not built (make build)")
    }
    guard isStripped(binary) else { try skip("the release is not as make build leaves it: it is not stripped") }
    let search = try await Program.run(try Program.tool("grep"), arguments: ["-q", "icudt", path])
    #expect(search.exit == 1)  // grep(1): not found
    #expect(binary.count < 36_000_000)
  }

  @Test("make without a Swift compiler says which one is needed and where it comes from")
  func noCompiler() async throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").path
    let made = try await Program.run(
      try Program.tool("make"), arguments: ["-C", root, "demo"], environment: ["PATH": "/nonexistent"])
    #expect(made.exit == 2 && made.error.contains("Swift 6.3") && made.error.contains("https://www.swift.org/install"))
    #expect(made.error.split(separator: "\n").count <= 2, "\(made.error)")
  }

  @Test(
    "rosterctl contains neither an HTTP client nor TLS nor libcrypto, and rosterd contains all",
    arguments: ["RosterFetch", "NIOSSL", "CNIOBoringSSL", "libcrypto.so"])
  func linked(library: String) async throws {
    for (program, exit): (String, Int32) in [("rosterctl", 1), ("rosterd", 0)] {
      let path = "\(Program.productFolder)/\(program)"
      #expect(
        try await Program.run(try Program.tool("grep"), arguments: ["-q", library, path]).exit == exit, "\(program)")
    }
  }

  /// True if no section is a symbol table (elf(5)).
  private func isStripped(_ binary: Data) -> Bool {
    binary.withUnsafeBytes { bytes in
      let header = bytes.loadUnaligned(as: Elf64_Ehdr.self)
      return !(0..<Int(header.e_shnum)).contains { index in
        let offset = Int(header.e_shoff) + index * Int(header.e_shentsize)
        return bytes.loadUnaligned(fromByteOffset: offset, as: Elf64_Shdr.self).sh_type == SHT_SYMTAB
      }
    }
  }
}
