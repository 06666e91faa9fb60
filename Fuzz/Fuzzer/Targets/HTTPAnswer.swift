import RosterCore

/// An answer as a client reads it (RFC 9112), strictly.
struct HTTPAnswer: Equatable {
  var status = 0
  var headers: [[String]] = []
  var body: [UInt8] = []

  /// nil if the bytes are not HTTP answers. The last one may be a stream that continues to the end.
  static func all(in bytes: [UInt8]) -> [HTTPAnswer]? {
    var answers: [HTTPAnswer] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let head = take(&rest, until: "\r\n\r\n"), var answer = HTTPAnswer(head: head) else { return nil }
      if answer.status != 100 {
        guard answer.has("date"), answer.value("cache-control") == "no-store", answer.readBody(&rest) else {
          return nil
        }
      }
      answers.append(answer)
    }
    return answers
  }

  private init?(head: ArraySlice<UInt8>) {
    let lines = Array(head).parted(by: "\r\n").map { String(decoding: $0, as: UTF8.self) }
    let words = lines[0].split(separator: " ", maxSplits: 2).map(String.init)
    guard words.count == 3, words[0] == "HTTP/1.1", words[1].utf8.count == 3, let status = Int(words[1]),
      lines.allSatisfy({ $0.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } })
    else { return nil }
    self.status = status
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":"), String(line[..<colon]).isHTTPToken else { return nil }
      headers.append([line[..<colon].lowercased(), line[colon...].dropFirst().trimmed])
    }
  }

  private func has(_ name: String) -> Bool { headers.count { $0[0] == name } == 1 }

  private func value(_ name: String) -> String? { headers.first { $0[0] == name }?[1] }

  private mutating func readBody(_ rest: inout ArraySlice<UInt8>) -> Bool {
    if let length = value("content-length") {
      guard has("content-length"), !has("transfer-encoding"), let length = Int(length) else { return false }
      // An answer to HEAD has no body.
      if !rest.isEmpty || length == 0, !rest.starts(with: "HTTP/1.1 ".utf8) {
        guard rest.count >= length else { return false }
        body = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
      }
    } else if value("transfer-encoding") == "chunked" {
      return readChunks(&rest)
    } else if !rest.starts(with: "HTTP/1.1 ".utf8) {
      body = Array(rest)
      rest = []
    }
    let type = value("content-type") ?? ""
    // Values about the process change from one request to the next.
    if type.hasPrefix("text/plain; version") {
      body = []
      headers.removeAll { $0[0] == "content-length" }
    }
    return body.isEmpty || !type.hasSuffix("json") || PlainJSON.read(body) != nil
  }

  private mutating func readChunks(_ rest: inout ArraySlice<UInt8>) -> Bool {
    while !rest.isEmpty {
      guard let line = Self.take(&rest, until: "\r\n"),
        let length = Int(String(decoding: line, as: UTF8.self), radix: 16), rest.count >= length + 2
      else { return false }
      body += rest.prefix(length)
      guard rest.dropFirst(length).starts(with: "\r\n".utf8) else { return false }
      rest = rest.dropFirst(length + 2)
      if length == 0 { return true }
    }
    return true
  }

  private static func take(_ rest: inout ArraySlice<UInt8>, until mark: String) -> ArraySlice<UInt8>? {
    let mark = Array(mark.utf8)
    for at in rest.indices where rest[at...].starts(with: mark) {
      defer { rest = rest[at...].dropFirst(mark.count) }
      return rest[..<at]
    }
    return nil
  }
}

extension Substring {
  fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
