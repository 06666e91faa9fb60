import Glibc

/// Time that the threads of this process have worked.
enum CPUTime {
  /// CPU time of the work in nanoseconds, over all threads.
  static func spent(_ work: () async throws -> Void) async rethrows -> Double {
    let start = now
    try await work()
    return now - start
  }

  private static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

/// The current speed of this machine, measured by a loop that does not depend on rosterd's code.
enum Calibration {
  /// A tenth of a second: more than the clock's resolution, and short enough to wait for.
  private static let steps = 20_000_000
  /// Words of 8 bytes: 1 MiB, as much as the hot part of a sync, so that a crowded processor cache affects both
  /// equally.
  private static let words = 1 << 17

  static func nanosecondsPerStep() async -> Double {
    var memory = [UInt64](repeating: 1, count: words)
    let spent = await CPUTime.spent { walk(&memory) }
    // Read, so that no compiler leaves the loop out.
    precondition(memory.contains { $0 != 1 })
    return spent / Double(steps)
  }

  /// A step mixes a number (SplitMix64) and puts it into memory.
  private static func walk(_ memory: inout [UInt64]) {
    var state: UInt64 = 1
    for _ in 0..<steps {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      memory[Int(truncatingIfNeeded: mixed >> 40) & (words - 1)] &+= mixed
    }
  }
}
