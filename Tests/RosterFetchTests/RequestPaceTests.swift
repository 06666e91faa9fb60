import RosterCore
import RosterFetch
import RosterTestSupport
import Testing

/// The start times in milliseconds of requests that are all ready at the first moment.
private func starts(_ count: Int, by pace: RequestPace, from begin: Duration = .zero) -> [Int] {
  var (pace, now) = (pace, begin)
  return (0..<count).map { _ in
    now += pace.wait(at: now)
    pace.take(at: now)
    return Int((now.seconds * 1000).rounded())
  }
}

@Suite("27: limit.rate") struct RequestPaceTests {
  @Test("27: a second's worth starts at once, the others one after the other until the burst is paid back")
  func burst() {
    #expect(starts(8, by: RequestPace(rate: 4, at: .zero)) == [0, 0, 0, 0, 1000, 1250, 1500, 1750])
    #expect(starts(4, by: RequestPace(rate: 2.5, at: .zero)) == [0, 0, 800, 1200])
    #expect(starts(3, by: RequestPace(rate: 0.5, at: .zero)) == [0, 2000, 4000])
    #expect(starts(3, by: RequestPace(rate: 4, at: .zero, isRested: false)) == [0, 250, 500])
  }

  @Test("27: time without a request earns a burst of a second's worth at most")
  func rest() {
    var pace = RequestPace(rate: 4, at: .zero, isRested: false)
    pace.take(at: .zero)
    #expect(starts(4, by: pace, from: .milliseconds(750)) == [750, 750, 750, 1500])
    #expect(starts(6, by: pace, from: .seconds(3600)) == [0, 0, 0, 0, 1000, 1250].map { $0 + 3_600_000 })
  }

  @Test("27: no second sees more than a second's worth, for random requests", arguments: [1, 3, 10, 0.3, 2.5])
  func anySecond(rate: Double) {
    for seed in UInt64(1)...40 {
      var dice = SeededDice(seed: seed)
      var (pace, now, started) = (RequestPace(rate: rate, at: .zero), Duration.zero, [Duration]())
      for _ in 0..<400 {
        // Many requests at once, and pauses of all lengths.
        if Int.random(in: 0..<4, using: &dice) == 0 { now += .milliseconds(Int.random(in: 0...2500, using: &dice)) }
        now += pace.wait(at: now)
        pace.take(at: now)
        started.append(now)
      }
      let most = Int(max(1, rate.rounded(.up)))
      for (index, start) in started.enumerated() {
        // A nanosecond is tolerated, because a third of a second is not exact.
        let within = started[index...].prefix { $0 - start < .seconds(1) - .nanoseconds(1000) }
        #expect(within.count <= most, "seed \(seed): \(within.count) from \(start) on")
      }
      let least = started.count / max(1, most) / 2
      #expect(started[started.count - 1] >= .seconds(least), "seed \(seed)")
    }
  }
}
