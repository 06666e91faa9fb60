import Dispatch
import Glibc
import RosterCore

/// Receives one answer of the browser on a free port of 127.0.0.1 (RFC 8252 §7.3). Its port is closed afterwards.
final class LoopbackReceiver: Sendable {
  /// The query of the answer, decoded.
  typealias Answer = [String: String]

  private let listener: LoopbackListener
  private let queue = DispatchQueue(label: "rosterd.login")

  /// `http://127.0.0.1:PORT/`
  var address: String { "http://127.0.0.1:\(listener.port)/" }

  /// - Parameter port: 0 for a free one.
  /// - Throws: a `Failure` (69) if the port cannot be opened.
  init(port: UInt16 = 0) throws(Failure) {
    do throws(SystemError) { listener = try LoopbackListener(port: port, isBlocking: true) } catch {
      let ports = port == 0 ? "this machine has free ports" : "another program has port \(port)"
      throw Failure(
        .unreachable, step: "listen for the browser's answer", subject: "127.0.0.1\(port == 0 ? "" : ":\(port)")",
        cause: error.text, hint: "see whether \(ports), or use rosterd login --device")
    }
  }

  /// Waits for one answer with a `state`; nil if none comes in time. Call it once.
  func answer(within patience: Duration) async -> Answer? {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        var visits = LoopbackVisits(listener.descriptor)
        let answer = visits.answer(until: .now + patience)
        close(listener.descriptor)
        continuation.resume(returning: answer)
      }
    }
  }
}

/// Connections to the port: a browser opens some that it never uses, and asks for an icon.
private struct LoopbackVisits {
  private struct Visit {
    var descriptor: CInt
    var head: [UInt8] = []
  }

  private static let maxVisits = 16
  private static let maxHeadBytes = 16 * 1024

  private let listener: CInt
  private var visits: [Visit] = []

  init(_ listener: CInt) {
    self.listener = listener
  }

  mutating func answer(until end: ContinuousClock.Instant) -> LoopbackReceiver.Answer? {
    defer { for visit in visits { close(visit.descriptor) } }
    while ContinuousClock.now < end {
      var polled = ([listener] + visits.map(\.descriptor)).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let left = (end - ContinuousClock.now).seconds * 1000
      guard poll(&polled, nfds_t(polled.count), CInt(max(1, min(left, 1000)))) > 0 else { continue }
      for ready in polled.dropFirst() where ready.revents != 0 {
        if let answer = read(ready.fd) { return answer }
      }
      if polled[0].revents != 0 { accept() }
    }
    return nil
  }

  private mutating func accept() {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else { return }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // The oldest one waits for nothing any more.
    if visits.count == Self.maxVisits { close(visits.removeFirst().descriptor) }
    visits.append(Visit(descriptor: descriptor))
  }

  private mutating func read(_ descriptor: CInt) -> LoopbackReceiver.Answer? {
    guard let index = visits.firstIndex(where: { $0.descriptor == descriptor }) else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    if count > 0 { visits[index].head += bytes[..<count] }
    let head = String(decoding: visits[index].head, as: UTF8.self)
    let isWhole = head.contains("\r\n\r\n")
    guard count <= 0 || isWhole || head.utf8.count > Self.maxHeadBytes else { return nil }
    visits.remove(at: index)
    defer { close(descriptor) }
    let answer = isWhole ? Self.answer(in: head) : nil
    reply(answer, to: descriptor)
    return answer
  }

  /// nil for any other request than the browser's answer.
  private static func answer(in head: String) -> LoopbackReceiver.Answer? {
    let words = head.prefix { $0 != "\r\n" }.split(separator: " ")
    guard words.count == 3, words[0] == "GET", words[1].hasPrefix("/?") else { return nil }
    let items = words[1].dropFirst(2).split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (decoded(parts[0]), parts.count > 1 ? decoded(parts[1]) : "")
    }
    let answer = Dictionary(items) { first, _ in first }
    return answer["state"] != nil || answer["error"] != nil ? answer : nil
  }

  /// A browser leaves some characters unencoded, beside encoded ones. A form writes a space as a plus sign.
  private static func decoded(_ text: Substring) -> String {
    String(decoding: text.utf8.percentDecoded(isForm: true), as: UTF8.self)
  }

  private func reply(_ answer: LoopbackReceiver.Answer?, to descriptor: CInt) {
    let isDone = answer != nil
    let text =
      isDone ? "rosterd has received the answer. You can close this page and look at the terminal." : "not found"
    let reply = """
      HTTP/1.1 \(isDone ? "200 OK" : "404 Not Found")\r
      Content-Type: text/plain; charset=utf-8\r
      Content-Length: \(text.utf8.count)\r
      Cache-Control: no-store\r
      Referrer-Policy: no-referrer\r
      X-Content-Type-Options: nosniff\r
      Connection: close\r
      \r
      \(text)
      """
    try? write(Array(reply.utf8), to: descriptor)
  }
}
