import FoundationEssentials
import Glibc
import RosterModel
import RosterTestSupport
import Testing

/// The release binaries as `make build` leaves them.
@Suite struct ReleaseTests {
  @Test("The release has no ICU in it, which full Foundation would bring along, and is under 35 MB")
  func size() throws {
    let path = Program.productFolder + "/../release/rosterd"
    guard let binary = FileManager.default.contents(atPath: path) else {
      try skip("the release is not built (make build)")
    }
    guard isStripped(binary) else { try skip("the release is not as make build leaves it: it is not stripped") }
    #expect(!contains("icudt", binary))
    #expect(binary.count < 35_000_000)
  }

  /// Whether no section is a symbol table (elf(5)).
  private func isStripped(_ binary: Data) -> Bool {
    binary.withUnsafeBytes { bytes in
      let header = bytes.loadUnaligned(as: Elf64_Ehdr.self)
      return !(0..<Int(header.e_shnum)).contains { index in
        let offset = Int(header.e_shoff) + index * Int(header.e_shentsize)
        return bytes.loadUnaligned(fromByteOffset: offset, as: Elf64_Shdr.self).sh_type == SHT_SYMTAB
      }
    }
  }

  private func contains(_ text: String, _ binary: Data) -> Bool {
    let wanted = Array(text.utf8)
    return binary.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while let start = rest.firstIndex(of: wanted[0]) {
        if rest[start...].starts(with: wanted) { return true }
        rest = rest[(start + 1)...]
      }
      return false
    }
  }
}
