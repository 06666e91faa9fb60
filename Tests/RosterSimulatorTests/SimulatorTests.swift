import FoundationEssentials
import RosterCore
import RosterSimulator
import Testing

@Suite(.timeLimit(.minutes(1))) struct SimulatorTests {
  @Test("Held requests are judged when they arrive, counted, and answered when released")
  func gates() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      simulator.hold(.pages(2...4))
      async let second = simulator.page(2)
      async let third = simulator.page(3)
      async let fourth = simulator.page(4)
      try await simulator.waitFor { $0.held == 3 }
      #expect(try await simulator.page(1).status == 200)
      simulator.update { characters in characters = [] }
      simulator.release(.page(3))
      #expect(try await third.json(PageJSON.self).results.first?.id == 41)
      #expect(simulator.counts.held == 2)
      simulator.release()
      _ = try await (second, fourth)
      #expect(simulator.counts.peakInFlight == 4 && simulator.counts.inFlight == 0)
    }
  }

  @Test("A late 401 can be kept back until the refresh is over")
  func late401() async throws {
    try await withSimulator(Scenario(tokens: .init(flow: .authenticateForm, uses: [0]))) {
      (simulator: Simulator) async throws in
      let credentials = simulator.credentials
      simulator.hold(.status(401))
      async let late = simulator.page(5, token: credentials.accessToken)
      try await simulator.waitFor { $0.held == 1 }
      #expect(try await simulator.post("refreshToken=\(credentials.refreshToken ?? "")").status == 200)
      simulator.release()
      #expect(try await late.status == 401)
      #expect(simulator.counts.requests(ofPage: 5)[0].generation == 0)
    }
  }

  @Test("A stalled answer goes on when it is released", arguments: [Fault.Cut.nothing, .head, .half])
  func stall(cut: Fault.Cut) async throws {
    try await withSimulator(Scenario(rules: [.on(.page(1), .cut(after: cut, .stall))])) {
      (simulator: Simulator) async throws in
      async let page = simulator.page(1)
      try await simulator.waitFor { $0.held == 1 }
      simulator.release()
      #expect(try await page.json(PageJSON.self).results.count == 20)
    }
  }

  @Test("A client that leaves while its answer is held is reported")
  func abandoned() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      simulator.hold(.anyPage)
      let request = Task { try await simulator.page(1) }
      try await simulator.waitFor { $0.held == 1 }
      request.cancel()
      _ = await request.result
      let counts = try await simulator.waitFor { $0.abandoned == 1 }
      #expect(counts.inFlight == 0 && counts.held == 0)
    }
  }

  @Test("Latency passes before an answer")
  func latency() async throws {
    var scenario = Scenario()
    scenario.latency = .milliseconds(50)
    try await withSimulator(scenario) { (simulator: Simulator) async throws in
      let start = ContinuousClock.now
      #expect(try await simulator.page(1).status == 200)
      #expect(ContinuousClock.now - start >= .milliseconds(50))
    }
  }

  @Test("Latency passes for many requests at once")
  func latencies() async throws {
    var scenario = Scenario()
    scenario.latency = .seconds(3_600)
    try await withSimulator(scenario) { (simulator: Simulator) async throws in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for page in 1...8 { group.addTask { _ = try await simulator.page(page) } }
        try await simulator.waitFor { $0.inFlight == 8 }
        group.cancelAll()
      }
    }
  }

  @Test("A wait for something that never happens can be cancelled")
  func cancelledWait() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      let wait = Task { try await simulator.waitFor { $0.strays == 1 } }
      wait.cancel()
      await #expect(throws: CancellationError.self) { try await wait.value }
    }
  }

  @Test("In the demo eight requests have the dead token after 19 answers, and one refresh repairs it")
  func demo() async throws {
    var scenario = Scenario.demo
    scenario.latency = .zero
    try await withSimulator(scenario) { (simulator: Simulator) async throws in
      let token = simulator.credentials.accessToken
      for page in 1...19 { #expect(try await simulator.page(page, token: token).status == 200) }
      for page in 20...27 { #expect(try await simulator.page(page, token: token).status == 401) }
      #expect(simulator.counts.pages(answered: 401) == 8)

      let granted = try await simulator.post("refreshToken=\(simulator.credentials.refreshToken ?? "")")
      let next = try granted.json([String: String].self)["token"]
      for page in 20...42 { #expect(try await simulator.page(page, token: next).status == 200) }
    }
  }

  @Test("A port that another program uses is 73, and the message gives the system's reason")
  func takenPort() async throws {
    try await withSimulator { (simulator: Simulator) async throws in
      let port = try #require(simulator.origin.split(separator: ":").last.flatMap { UInt16($0) })
      let failure = await #expect(throws: Failure.self) { try await Simulator.start(port: port) }
      #expect(failure?.kind == .cannotWrite)
      #expect(failure?.cause == "Address already in use")
    }
  }
}
