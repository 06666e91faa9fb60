/// A text as a QR code (ISO/IEC 18004): bytes, versions 1 to 9, error correction level L.
package struct QRCode: Sendable, Equatable {
  /// Rows of modules; true is dark.
  package private(set) var modules: [[Bool]]
  /// Modules of patterns, which contain no data.
  private var isPattern: [[Bool]]
  private var version: Int

  /// Nil if the text has more than 230 bytes.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard let version = (1...9).first(where: { Self.dataCount($0) >= bytes.count + 2 }) else { return nil }
    self.version = version
    let size = 17 + 4 * version
    modules = Array(repeating: Array(repeating: false, count: size), count: size)
    isPattern = modules
    drawPatterns()
    draw(Self.codewords(bytes, version))
    // Any mask is valid. This one leaves the fewest neighbours of the same colour.
    let codes = (0..<8).map { masked(by: $0) }
    self = codes.min { $0.equalNeighbours < $1.equalNeighbours } ?? self
  }

  private var size: Int { modules.count }

  // MARK: Text

  /// Lines of half blocks in black on white, with the white border that scanners need.
  package var lines: [String] {
    let border = 4
    func isDark(_ x: Int, _ y: Int) -> Bool {
      modules.indices.contains(y - border) && modules.indices.contains(x - border) && modules[y - border][x - border]
    }
    return stride(from: 0, to: size + 2 * border, by: 2).map { y in
      let row = (0..<size + 2 * border).map { x in
        switch (isDark(x, y), isDark(x, y + 1)) {
        case (false, false): " "
        case (true, false): "▀"
        case (false, true): "▄"
        case (true, true): "█"
        }
      }
      return "\u{1b}[38;5;16;48;5;231m\(row.joined())\u{1b}[0m"
    }
  }

  /// The lines, or none if the terminal cannot show them as a whole in black and white.
  package static func lines(_ text: String, on terminal: Terminal) -> [String] {
    guard terminal.colour, let lines = QRCode(text)?.lines, lines.count < terminal.rows,
      lines.count * 2 - 1 <= terminal.columns
    else { return [] }
    return lines
  }

  // MARK: Codewords

  /// Error correction codewords of each block, by version.
  private static let correctionCounts = [7, 10, 15, 20, 26, 18, 20, 24, 30]

  private static func blockCount(_ version: Int) -> Int { version < 6 ? 1 : 2 }

  private static func totalCount(_ version: Int) -> Int {
    let patterns = version >= 2 ? (25 * (version / 7 + 2) - 10) * (version / 7 + 2) - 55 : 0
    return ((16 * version + 128) * version + 64 - patterns - (version >= 7 ? 36 : 0)) / 8
  }

  private static func dataCount(_ version: Int) -> Int {
    totalCount(version) - correctionCounts[version - 1] * blockCount(version)
  }

  /// Data and error correction of all blocks, in turn.
  private static func codewords(_ bytes: [UInt8], _ version: Int) -> [UInt8] {
    // Four bits say that bytes follow, eight their number; four zero bits end them.
    var data: [UInt8] = [4 << 4]
    for byte in [UInt8(bytes.count)] + bytes {
      data[data.count - 1] |= byte >> 4
      data.append(byte << 4)
    }
    var isEven = true
    while data.count < dataCount(version) {
      data.append(isEven ? 0xEC : 0x11)
      isEven.toggle()
    }
    let blocks = blockCount(version)
    // All blocks of these versions have the same length.
    let length = data.count / blocks
    let parts = (0..<blocks).map { Array(data[$0 * length..<($0 + 1) * length]) }
    return interleaved(parts) + interleaved(parts.map { correction(of: $0, count: correctionCounts[version - 1]) })
  }

  private static func interleaved(_ parts: [[UInt8]]) -> [UInt8] {
    parts[0].indices.flatMap { at in parts.map { part in part[at] } }
  }

  /// Remainder of Reed and Solomon's division.
  private static func correction(of data: [UInt8], count: Int) -> [UInt8] {
    var divisor = Array(repeating: UInt8(0), count: count - 1) + [1]
    var root: UInt8 = 1
    for _ in 0..<count {
      for at in divisor.indices {
        divisor[at] = product(divisor[at], root) ^ (at + 1 < count ? divisor[at + 1] : 0)
      }
      root = product(root, 2)
    }
    var remainder = Array(repeating: UInt8(0), count: count)
    for byte in data {
      let factor = byte ^ remainder[0]
      remainder = Array(remainder.dropFirst()) + [0]
      for at in remainder.indices { remainder[at] ^= product(divisor[at], factor) }
    }
    return remainder
  }

  /// Product in the field of 256 elements with the polynomial 0x11D.
  private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    var result = 0
    for bit in (0..<8).reversed() {
      result = result << 1 ^ (result >> 7) * 0x11D ^ Int(right >> bit & 1) * Int(left)
    }
    return UInt8(result)
  }

  // MARK: Modules

  private mutating func setPattern(_ x: Int, _ y: Int, _ isDark: Bool) {
    guard modules.indices.contains(x), modules.indices.contains(y) else { return }
    modules[y][x] = isDark
    isPattern[y][x] = true
  }

  private mutating func drawPatterns() {
    for at in 0..<size {
      setPattern(6, at, at % 2 == 0)
      setPattern(at, 6, at % 2 == 0)
    }
    for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { drawSquare(x, y, reach: 4, light: [2, 4]) }
    var places = version == 1 ? [] : [6, size - 7]
    if version >= 7 { places.append((size - 1) / 2) }
    for x in places {
      for y in places where ![[6, 6], [6, size - 7], [size - 7, 6]].contains([x, y]) {
        drawSquare(x, y, reach: 2, light: [1])
      }
    }
    drawFormat(mask: 0)
    if version >= 7 { drawVersion() }
  }

  private mutating func drawSquare(_ x: Int, _ y: Int, reach: Int, light: Set<Int>) {
    for down in -reach...reach {
      for right in -reach...reach { setPattern(x + right, y + down, !light.contains(max(abs(right), abs(down)))) }
    }
  }

  /// The level L and the mask, twice.
  private mutating func drawFormat(mask: Int) {
    let bits = Self.protected(1 << 3 | mask, by: 0x537, count: 10) ^ 0x5412
    func bit(_ at: Int) -> Bool { bits >> at & 1 == 1 }
    for at in 0..<15 {
      setPattern(8, at < 6 ? at : at < 8 ? at + 1 : size - 15 + at, bit(at))
      setPattern(at < 8 ? size - 1 - at : at == 8 ? 7 : 14 - at, 8, bit(at))
    }
    setPattern(8, size - 8, true)
  }

  private mutating func drawVersion() {
    let bits = Self.protected(version, by: 0x1F25, count: 12)
    for at in 0..<18 {
      setPattern(size - 11 + at % 3, at / 3, bits >> at & 1 == 1)
      setPattern(at / 3, size - 11 + at % 3, bits >> at & 1 == 1)
    }
  }

  /// The value, followed by the remainder of its division.
  private static func protected(_ value: Int, by polynomial: Int, count: Int) -> Int {
    var rest = value
    for _ in 0..<count { rest = rest << 1 ^ (rest >> (count - 1)) * polynomial }
    return value << count | rest
  }

  /// Fills pairs of columns from the right, upwards and downwards in turn.
  private mutating func draw(_ codewords: [UInt8]) {
    var at = 0
    // The column of the timing pattern belongs to no pair.
    for right in (1..<size).reversed() where right > 6 ? right % 2 == 0 : right % 2 == 1 {
      for step in 0..<size {
        for x in [right, right - 1] {
          let y = (right + 1) & 2 == 0 ? size - 1 - step : step
          guard !isPattern[y][x], at < codewords.count * 8 else { continue }
          modules[y][x] = codewords[at / 8] >> (7 - at % 8) & 1 == 1
          at += 1
        }
      }
    }
  }

  private func masked(by mask: Int) -> QRCode {
    var code = self
    for y in 0..<size {
      for x in 0..<size where !isPattern[y][x] && Self.isInverted(x, y, mask) { code.modules[y][x].toggle() }
    }
    code.drawFormat(mask: mask)
    return code
  }

  private static func isInverted(_ x: Int, _ y: Int, _ mask: Int) -> Bool {
    switch mask {
    case 0: (x + y) % 2 == 0
    case 1: y % 2 == 0
    case 2: x % 3 == 0
    case 3: (x + y) % 3 == 0
    case 4: (x / 3 + y / 2) % 2 == 0
    case 5: x * y % 2 + x * y % 3 == 0
    case 6: (x * y % 2 + x * y % 3) % 2 == 0
    default: ((x + y) % 2 + x * y % 3) % 2 == 0
    }
  }

  private var equalNeighbours: Int {
    var count = 0
    for y in 0..<size {
      for x in 1..<size {
        count += modules[y][x] == modules[y][x - 1] ? 1 : 0
        count += modules[x][y] == modules[x - 1][y] ? 1 : 0
      }
    }
    return count
  }
}
