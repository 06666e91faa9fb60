import RosterCore
import Testing

struct PageDigestTests {
  @Test(
    "9: the digest of a body is SipHash-1-3",
    arguments: [
      (0, 0xabac_0158_050f_c4dc as UInt64), (1, 0xc9f4_9bf3_7d57_ca93), (7, 0xd392_7d98_9bb1_1140),
      (8, 0x3690_9511_8d29_9a8e), (63, 0x9d19_9062_b7bb_b3a8),
    ])
  func vectors(length: Int, expected: UInt64) {
    let digest = PageDigest(key: Array(0..<16))
    #expect(UInt64(bitPattern: digest((0..<length).map { UInt8($0) })) == expected)
  }
}
