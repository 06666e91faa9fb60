import FoundationEssentials
import Glibc
import RosterCore
import RosterSystemd
import RosterTestSupport
import Testing

/// Runs `body` with a socket that receives the datagrams of libsystemd.
private func withManager(_ body: (DatagramSocket) throws -> Void) async throws {
  try await withFolder { folder in
    let path = folder + "/notify"
    let manager = try DatagramSocket(path: path)
    setenv("NOTIFY_SOCKET", path, 1)
    try body(manager)
  }
}

/// Each runs in a process of its own, because libsystemd reads the environment.
@Suite struct NotifyTests {
  @Test("49: every state is sent as in sd_notify(3), and a status with READY counts for the throttle")
  func states() async {
    await #expect(processExitsWith: .success) {
      try await withManager { manager in
        let notify = Notify()
        let start = Date(timeIntervalSince1970: 1000)

        notify.extendTimeout(by: .seconds(90))
        #expect(manager.receive() == "EXTEND_TIMEOUT_USEC=90000000")
        notify.ready(status: "waits for\nthe first sync", now: start)
        #expect(manager.receive() == "READY=1\nSTATUS=waits for the first sync")
        #expect(notify.status("pulls page 1", now: start + 0.125) == .milliseconds(375))
        #expect(manager.receive() == nil)
        #expect(notify.status("pulls page 2", now: start + 0.5) == nil)
        #expect(manager.receive() == "STATUS=pulls page 2")
        #expect(notify.status("idle", now: start + 1) == nil)
        #expect(manager.receive() == "STATUS=idle")
        notify.ready(status: "reloaded", now: start + 1.25)
        #expect(manager.receive() == "READY=1")
        notify.ready(status: "reloaded", now: start + 1.5)
        #expect(manager.receive() == "READY=1\nSTATUS=reloaded")

        notify.watchdog()
        #expect(manager.receive() == "WATCHDOG=1")
        notify.stopping()
        #expect(manager.receive() == "STOPPING=1")
        notify.failed(exitStatus: 73, "the disk\nis full")
        #expect(manager.receive() == "STATUS=the disk is full")
        #expect(manager.receive() == "EXIT_STATUS=73")
      }
    }
  }

  @Test("49: READY is sent alone if its status is too long for systemd, and a long status is cut")
  func long() async {
    await #expect(processExitsWith: .success) {
      try await withManager { manager in
        let notify = Notify()
        let start = Date(timeIntervalSince1970: 1000)
        let longest = 4096
        let fitting = String(repeating: "x", count: longest - "READY=1\nSTATUS=".utf8.count)
        notify.ready(status: fitting, now: start)
        #expect(manager.receive() == "READY=1\nSTATUS=\(fitting)")
        notify.ready(status: fitting + "y", now: start + 1)
        #expect(manager.receive() == "READY=1")
        #expect(manager.receive() == "STATUS=\(fitting)y")
        notify.ready(status: String(repeating: "é", count: 300_000), now: start + 2)
        #expect(manager.receive() == "READY=1")
        let status = try #require(manager.receive())
        #expect(status.utf8.count <= longest && status.hasPrefix("STATUS=éé") && status.hasSuffix("é…"))
      }
    }
  }

  @Test("49: RELOADING has the monotonic time")
  func reload() async {
    await #expect(processExitsWith: .success) {
      func monotonic() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
      }
      try await withManager { manager in
        let before = monotonic()
        Notify().reloading()
        let message = try #require(manager.receive())
        let prefix = "RELOADING=1\nMONOTONIC_USEC="
        #expect(message.hasPrefix(prefix))
        let sent = try #require(Int(message.dropFirst(prefix.count)))
        #expect((before...monotonic()).contains(sent))
      }
    }
  }

  @Test("41, 45: a service manager that does not read blocks nothing, and gets the latest states later")
  func stuck() async {
    await #expect(processExitsWith: .success) {
      try await withManager { manager in
        DatagramSocket.fill(path: String(cString: getenv("NOTIFY_SOCKET")))
        let notify = Notify()
        let start = Date(timeIntervalSince1970: 1000)
        let began = ContinuousClock.now
        notify.ready(status: "starting", now: start)
        for second in 1...50 {
          notify.watchdog()
          #expect(notify.status("page \(second)", now: start + Double(second)) == nil)
        }
        notify.stopping()
        #expect(ContinuousClock.now - began < .seconds(2))
        while manager.receive() == DatagramSocket.filler {}
        notify.sendWaiting()
        for state in ["READY=1\nSTATUS=starting", "WATCHDOG=1", "STATUS=page 50", "STOPPING=1"] {
          #expect(manager.receive() == state)
        }
        notify.sendWaiting()
        #expect(manager.receive() == nil)
      }
    }
  }

  @Test("49: neither RELOADING nor READY follows STOPPING")
  func stopDuringReload() async {
    await #expect(processExitsWith: .success) {
      try await withManager { manager in
        let notify = Notify()
        notify.stopping()
        notify.ready(status: "idle", now: Date())
        notify.reloading()
        #expect(manager.receive() == "STOPPING=1")
        #expect(manager.receive() == nil)
      }
    }
  }

  @Test("49: NOTIFY_SOCKET may have an abstract name")
  func abstract() async {
    await #expect(processExitsWith: .success) {
      let name = "rosterd-notify-\(getpid())"
      let manager = try DatagramSocket(path: "\0" + name)
      setenv("NOTIFY_SOCKET", "@" + name, 1)
      Notify().watchdog()
      #expect(manager.receive() == "WATCHDOG=1")
    }
  }

  @Test("49: without NOTIFY_SOCKET, or without a reader of it, nothing is sent and everything works")
  func absent() async {
    await #expect(processExitsWith: .success) {
      unsetenv("NOTIFY_SOCKET")
      Notify().ready(status: "ready", now: Date())
      setenv("NOTIFY_SOCKET", "/nowhere/notify", 1)
      Notify().watchdog()
    }
  }

  @Test("49: the watchdog interval is half of WATCHDOG_USEC, and only for the watched process")
  func watchdog() async {
    await #expect(processExitsWith: .success) {
      unsetenv("WATCHDOG_USEC")
      #expect(Notify.watchdogInterval == nil)
      setenv("WATCHDOG_USEC", "30000000", 1)
      setenv("WATCHDOG_PID", "\(getpid())", 1)
      #expect(Notify.watchdogInterval == .seconds(15))
      setenv("WATCHDOG_PID", "1", 1)
      #expect(Notify.watchdogInterval == nil)
    }
  }
}
