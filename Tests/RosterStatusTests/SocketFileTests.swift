import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterStatus

/// The socket as a file, by a server that runs.
@Suite(.timeLimit(.minutes(5))) struct SocketFileTests {
  private func mode(_ path: String) -> UInt32? {
    var facts = stat()
    return lstat(path, &facts) == 0 ? facts.st_mode : nil
  }

  @Test("45: the socket has the configured mode, answers, and is removed by a stop")
  func lifeOfTheSocket() async throws {
    try await withServer { path, server in
      #expect(mode(path) == UInt32(S_IFSOCK) | 0o660)
      try await expectStatus(200, of: path)
      await server.stop()
      #expect(mode(path) == nil)
    }
  }

  @Test("45: a stale socket of a dead daemon is replaced")
  func stale() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let dead = try SocketFile(path: path, mode: 0o600)
      try dead.publish()
      close(dead.descriptor)
      let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      try await server.start()
      try await expectStatus(200, of: path)
      await server.stop()
    }
  }

  @Test("45: a live socket is left alone (73), and continues to answer")
  func live() async throws {
    try await withServer { path, _ in
      let second = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      let failure = await #expect(throws: Failure.self) { try await second.start() }
      #expect(failure?.kind == .cannotWrite && failure?.cause == "another program answers on the socket")
      try await expectStatus(200, of: path)
    }
  }

  @Test("45: a socket that this user may not use counts as live")
  func forbidden() {
    #expect(SocketFile.obstacle(0) == "another program answers on the socket")
    #expect(SocketFile.obstacle(EAGAIN) == "another program answers on the socket")
    #expect(SocketFile.obstacle(EACCES) == "a socket is there that this user may not use")
    #expect(SocketFile.obstacle(ECONNREFUSED) == nil)
  }

  @Test("45: a file other than a socket is left alone (73), and no other file remains")
  func noSocket() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      try Data("mine".utf8).write(to: URL(filePath: path))
      let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      let failure = await #expect(throws: Failure.self) { try await server.start() }
      #expect(failure?.kind == .cannotWrite)
      #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == "mine")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["status.sock"])
    }
  }

  @Test("A path that is too long for a socket is 73, and the message has that reason")
  func longPath() async throws {
    try await withFolder { folder in
      let path = folder + "/" + String(repeating: "x", count: 120) + "/s"
      let server = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      let failure = await #expect(throws: Failure.self) { try await server.start() }
      #expect(failure?.cause == "the path is too long for a socket")
    }
  }

  @Test("45: a socket that another server published meanwhile is not replaced")
  func othersName() async throws {
    try await withServer { path, server in
      unlink(path)
      let second = StatusServer(at: .path(path, mode: 0o660), routes: makeRoutes())
      try await second.start()
      await server.stop()
      try await expectStatus(200, of: path)
      await second.stop()
    }
  }

  @Test("45: a file that another program put in the socket's place is left alone")
  func replaced() async throws {
    try await withServer { path, server in
      unlink(path)
      try Data("mine".utf8).write(to: URL(filePath: path))
      await server.stop()
      #expect(try String(contentsOf: URL(filePath: path), encoding: .utf8) == "mine")
    }
  }

  @Test("45: a reload changes the mode of no other file that has the socket's name now")
  func otherMode() async throws {
    try await withServer { path, server in
      let other = path + ".other"
      try Data("mine".utf8).write(to: URL(filePath: other))
      #expect(chmod(other, 0o600) == 0)
      unlink(path)
      #expect(symlink(other, path) == 0 && server.setMode(0o666))
      #expect(mode(other) == UInt32(S_IFREG) | 0o600)
      unlink(path)
      #expect(rename(other, path) == 0 && server.setMode(0o666))
      #expect(mode(path) == UInt32(S_IFREG) | 0o600)
      unlink(path)
      #expect(server.setMode(0o666))
    }
  }

  @Test("45: any path that is short enough for a client works, however short its name")
  func maxPath() async throws {
    try await withFolder { folder in
      let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
      let path = folder + "/" + String(repeating: "x", count: longest - folder.utf8.count - "//s".utf8.count) + "/s"
      #expect(path.utf8.count == longest)
      let server = StatusServer(at: .path(path, mode: 0o640), routes: makeRoutes())
      try await server.start()
      #expect(mode(path) == UInt32(S_IFSOCK) | 0o640)
      try await expectStatus(200, of: path)
      await server.stop()
    }
  }

  @Test("45: a passed socket is used, and its name remains")
  func passed() async throws {
    try await withFolder { folder in
      let path = folder + "/status.sock"
      let file = try SocketFile(path: path, mode: 0o600)
      try file.publish()
      let server = StatusServer(at: .passed(file.descriptor), routes: makeRoutes())
      try await server.start()
      try await expectStatus(200, of: path)
      await server.stop()
      #expect(mode(path) != nil)
    }
  }

  @Test("45: a passed descriptor that does not listen is refused (73)")
  func passedOther() async throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    let server = StatusServer(at: .passed(descriptor), routes: makeRoutes())
    let failure = await #expect(throws: Failure.self) { try await server.start() }
    #expect(failure?.kind == .cannotWrite)
  }
}
