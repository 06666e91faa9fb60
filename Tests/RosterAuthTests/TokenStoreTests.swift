import FoundationEssentials
import Glibc
import RosterCore
import RosterTestSupport
import Testing

@testable import RosterAuth

struct TokenStoreTests {
  private let workspace: Workspace
  private let store: TokenStore

  init() throws {
    workspace = Workspace()
    store = TokenStore(path: workspace.path("a/b/token.json"))
  }

  private static let start = Date(timeIntervalSince1970: 1_700_000_000.5)
  fileprivate static let session: Session = {
    var session = Session(
      .sample(.oauth2Refresh), credentials: Credentials(refreshToken: Secret("r0"), clientID: Secret("id")))
    session.standing = .token(IssuedToken(access: Secret("a1"), obtainedAt: start, expiresAt: start + 60))
    session.refreshToken = Secret("r1")
    return session
  }()

  private func mode(_ path: String) -> mode_t? {
    var info = stat()
    return stat(path, &info) == 0 ? info.st_mode & 0o7777 : nil
  }

  private func text(_ path: String) -> String? {
    FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
  }

  private func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(filePath: path))
  }

  @Test("35: a saved session is loaded completely")
  func roundTrip() async throws {
    #expect(try store.loaded == nil)
    try await store.save(Self.session)
    #expect(try store.loaded == Self.session)
    var bare = Self.session
    bare.standing = .absent
    bare.refreshToken = nil
    bare.isUnanswered = true
    try await store.save(bare)
    #expect(try store.loaded == bare)
    bare.standing = .ended(.init(at: Self.start, cause: "refused", file: "refresh_token", tried: "d"))
    try await store.save(bare)
    #expect(try store.loaded == bare)
  }

  /// Asks for one save after another without waiting for any.
  private actor Asker {
    func save(_ count: Int, to store: TokenStore) async throws {
      var saves: [Task<Void, any Error>] = []
      for number in 0..<count {
        var session = TokenStoreTests.session
        session.refreshToken = Secret("r\(number)")
        // Runs here up to its first wait.
        saves.append(Task.immediate { [session] in try await self.save(session, to: store) })
      }
      for save in saves { try await save.value }
    }

    private func save(_ session: Session, to store: TokenStore) async throws { try await store.save(session) }
  }

  @Test("31: the last save remains, however close together the saves are")
  func order() async throws {
    for _ in 0..<50 {
      try await Asker().save(8, to: store)
      #expect(try store.loaded?.refreshToken == Secret("r7"))
    }
  }

  @Test("33: a session that the store could not read back is not written")
  func tooLarge() async throws {
    try await store.save(Self.session)
    var large = Self.session
    large.refreshToken = Secret(String(repeating: "x", count: 1 << 20))
    #expect(TokenStore.fits(Self.session) && !TokenStore.fits(large))
    #expect(await failure { try await store.save(large) }?.kind == .cannotWrite)
    #expect(try store.loaded == Self.session)
  }

  // The test runs in its own process, because all threads share the umask.
  @Test("31: the file is 0600 and its folders are 0700 whatever the umask")
  func modes() async {
    await #expect(processExitsWith: .success) {
      for mask: mode_t in [0, 0o077] {
        umask(mask)
        let tests = try TokenStoreTests()
        try await tests.store.save(Self.session)
        #expect(tests.mode(tests.store.path) == 0o600)
        #expect(tests.mode(tests.workspace.path("a/b")) == 0o700)
      }
    }
  }

  @Test("31: a temporary file of a crash is replaced, never read, and none remains")
  func leftover() async throws {
    try await store.save(Self.session)
    try write("half a docu", to: store.temporaryPath)
    #expect(try store.loaded == Self.session)
    var next = Self.session
    next.refreshToken = Secret("r2")
    try await store.save(next)
    #expect(try store.loaded == next)
    #expect(text(store.temporaryPath) == nil)
  }

  @Test("31: the old file is replaced, not overwritten: a process that has it open reads it whole")
  func atomic() async throws {
    try await store.save(Self.session)
    let old = open(store.path, O_RDONLY)
    defer { close(old) }
    let size = lseek(old, 0, SEEK_END)
    var next = Self.session
    next.refreshToken = Secret(String(repeating: "x", count: 5000))
    try await store.save(next)
    #expect(lseek(old, 0, SEEK_END) == size)
    #expect(try store.loaded == next)
  }

  @Test("31: a save that fails leaves the old file, and no part of the new one")
  func failedSave() async throws {
    try await store.save(Self.session)
    // Nothing can be made in the place of the temporary file.
    mkdir(store.temporaryPath, 0o700)
    var next = Self.session
    next.refreshToken = Secret("r2")
    let failure = await failure { try await store.save(next) }
    #expect(failure?.kind == .cannotWrite)
    #expect(failure?.subject == store.temporaryPath)
    #expect(try store.loaded == Self.session)
  }

  @Test(
    "35: a store that is damaged or of a newer version is 73, and is not touched",
    arguments: [
      ("", "damaged"), ("{", "damaged"), (#"{"version":2,"tokens":[]}"#, "version 2"), (#"{"version":1}"#, "damaged"),
    ])
  func unreadable(content: String, says: String) throws {
    _ = try store.loaded
    try write(content, to: store.path)
    let failure = #expect(throws: Failure.self) { try store.loaded }
    #expect(failure?.kind == .cannotWrite)
    #expect(failure?.description.contains(says) == true)
    #expect(text(store.path) == content)
  }

  @Test("35: a time in another format than rosterd's is damage, not an unknown expiry")
  func badTime() async throws {
    try await store.save(Self.session)
    let content = try #require(text(store.path))
    // 1700000060.5
    try write(content.replacing("2023-11-14T22:14:20.500Z", with: "soon"), to: store.path)
    #expect(throws: Failure.self) { try store.loaded }
  }

  @Test("A folder that cannot be made is 73")
  func noFolder() throws {
    try write("a file", to: workspace.path("a"))
    let failure = #expect(throws: Failure.self) { try store.loaded }
    #expect(failure?.kind == .cannotWrite)
  }
}

extension TokenStore {
  /// The session of the tests' identity.
  fileprivate var loaded: Session? {
    get throws { try load(for: TokenStoreTests.session.binding).session }
  }
}
