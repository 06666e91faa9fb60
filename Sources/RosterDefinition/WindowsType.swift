import RosterCore

extension ValueType<Windows> {
  private static var names: [String] { ["from", "every", "recent", "form", "ends_now"] }

  /// A table with `from` and `every`, and perhaps the other names.
  static var windows: Self {
    Self(
      name: "a table", allowed: "{ from = \"2023-01-01\", every = \"31d\" }, also with recent, form and ends_now",
      isBare: false,
      read: { (item) throws(Mistakes) in
        guard case .table(let members) = item else { throw Mistakes(item.isNot("a table")) }
        if let other = members.list.first(where: { !names.contains($0.name) }) {
          throw Mistakes([Mistake("is unknown", allowed: names.joined(separator: " "), entry: other.name)])
        }
        let from = try entry("from", of: members, as: .text("a day or a time"))
        let every = try entry("every", of: members, as: .duration(atLeast: .seconds(1)))
        guard let from, let every else {
          throw Mistakes("lacks \(from == nil ? "from" : "every")", allowed: "a table with from and every")
        }
        var windows = Windows(from: from, every: every)
        guard windows.begin != nil else {
          throw Mistakes([
            Mistake("\(from.tomlString) is no time", allowed: "a day such as \"2023-01-01\"", entry: "from")
          ])
        }
        guard every.components.attoseconds == 0 else {
          throw Mistakes([Mistake("\(every.text) is no number of seconds", allowed: "whole seconds", entry: "every")])
        }
        windows.recent = try entry("recent", of: members, as: .integer(0...Windows.maxCount)) ?? Windows.usualRecent
        windows.endsNow = try entry("ends_now", of: members, as: .boolean) ?? false
        if let form = try entry("form", of: members, as: .formOfBounds) {
          windows.form = form
        } else {
          windows.form = windows.areDays ? nil : .rfc3339
        }
        if windows.form == nil || windows.form == .compact, !windows.areDays {
          throw Mistakes([
            Mistake("writes days, and the windows do not begin with days", allowed: "rfc3339 or unix", entry: "form")
          ])
        }
        return windows
      },
      write: { windows in
        .table([
          "from": .string(windows.from), "every": .string(windows.every.text), "recent": .integer(windows.recent),
          "form": ValueType<TimeForm?>.formOfBounds.write(windows.form), "ends_now": .boolean(windows.endsNow),
        ])
      })
  }

  private static func entry<Entry>(
    _ name: String, of members: TOMLMembers, as type: ValueType<Entry>
  ) throws(Mistakes) -> Entry? {
    guard let item = members[name] else { return nil }
    do throws(Mistakes) { return try type.read(item) } catch {
      throw Mistakes(error.list.map { Mistake($0.problem, allowed: $0.allowed ?? type.allowed, entry: name) })
    }
  }
}

extension ValueType<TimeForm?> {
  /// The form of a window's bounds; nil is a day.
  static var formOfBounds: Self {
    .text(
      allowed: TimeForm.writtenText,
      parse: { (text) throws(Mistakes) in
        if text == TimeForm.day { return nil }
        guard let form = TimeForm(rawValue: text), TimeForm.written.contains(form) else {
          throw Mistakes("\(text.tomlString) is unknown")
        }
        return form
      },
      write: { $0?.rawValue ?? TimeForm.day })
  }
}
