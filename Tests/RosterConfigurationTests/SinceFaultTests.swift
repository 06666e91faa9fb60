import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

/// Faults of `[resource.NAME.since]`.
struct SinceFaultTests {
  let workspace = Workspace()

  @Test(
    "53: each is refused at its key",
    arguments: [
      (#"param = "since""#, "at: is missing"), (#"at = "/at""#, "param: is missing"),
      (#"at = "/at", param = "page""#, #"param: "page" is a parameter of pages too"#),
      (#"at = "/at", param = "*""#, #"param: "*" is for pages"#),
      (#"at = "/at", param = "s", value = "x""#, #"value: "x" does not have {since} or {since:FORM} once"#),
      (#"at = "/at", param = "s", value = "{since:day}""#, #"value: "{since:day}" does not have"#),
      (#"at = "/at", param = "s", value = "{since}{since}""#, #"value: "{since}{since}" does not have"#),
      (
        #"at = "/at", param = "s", form = "number", value = "{since:unix}""#,
        #"value: {since:FORM} converts a time, and form is "number""#
      ),
      (#"at = "/at", param = "s", form = "number", overlap = "5m""#, "overlap: is a duration"),
      (#"at = "/at", param = "s", overlap = 5"#, "overlap: is an integer"),
      (#"at = "/at", param = "s", overlap = 0"#, "overlap: 0 is out of range"),
      (#"at = "/at", param = "s", form = "unix", zone = "+01:00""#, #"zone: is for form = "rfc3339""#),
      (#"at = "/at", param = "s", zone = "Nowhere/Else""#, #"zone: "Nowhere/Else" is neither an offset nor a name"#),
      (#"at = "/at", param = "s", whole_every = "never""#, #"whole_every: "never" needs removal = "never""#),
      (#"at = "/at", param = "s", whole_every = "1s""#, "whole_every: 1s is out of range"),
      (#"at = "/at", param = "/s""#, #"param: "/s" is a place in the body of a POST"#),
      (
        #"at = "/at", param = "/a/0/b", method = "POST", body = { a = [] }, query = {}"#,
        #"param: "/a/0/b" leads through something in body"#
      ),
      (
        #"at = "/at", param = "s", method = "POST", body = { a = [] }, pages = { param = "/a/0" }"#,
        #"pages.param: "/a/0" leads through something in body"#
      ),
      (
        #"at = "/at", param = "s", pages = { param = "/page" }"#,
        #"pages.param: "/page" is a place in the body of a POST"#
      ),
      (
        #"at = "/at", param = "/a", method = "POST", pages = { param = "/a/b" }"#,
        #"param: "/a" and "/a/b", which is a parameter of pages, are one in the other"#
      ),
      (
        #"at = "/at", param = "/a/b", method = "POST", pages = { param = "/a" }"#,
        #"param: "/a/b" and "/a", which is a parameter of pages, are one in the other"#
      ),
      (
        #"at = "/at", param = "/a", method = "POST", pages = { size = 5, size_param = "/a/b" }"#,
        #"param: "/a" and "/a/b", which is a parameter of pages, are one in the other"#
      ),
      (
        #"token = "/t", param = "/a", method = "POST", "#
          + #"pages = { style = "cursor", at = "/n", param = "/a/b" }"#,
        #"param: "/a" and "/a/b", which is a parameter of pages, are one in the other"#
      ),
      (#"at = "/at", param = "s", token = "/t""#, "token: is beside at"),
      (#"token = "/t", value = "x{since}""#, "value: has no effect without param"),
      (#"token = "/t", form = "unix""#, "form: is for at, and not for token"),
      (#"token = "/t", zone = "+01:00""#, "zone: is for at, and not for token"),
      (#"token = "/t", overlap = "1m""#, "overlap: is for at, and not for token"),
      (#"token = "/t", param = "s", from = "0""#, "from: is for at, and not for token"),
      (#"token = "/t", param = "s", value = "{since:unix}""#, "value: {since:FORM} converts a time"),
      (#"at = "/at", param = "s", key = "/k""#, "key: is for ask = true"),
      (#"at = "/at", param = "s", row_names = "/n""#, #"row_names: needs shape = "rows""#),
    ])
  func refused(since: String, fault: String) throws {
    let faults = try workspace.faults(FaultyDefinition.start + "since = { \(since) }\n" + FaultyDefinition.columns)
    #expect(faults.count == 1 && faults[0].hasPrefix("rosterd.toml:3: resource.thing.since.\(fault)"), "\(faults)")
  }

  @Test(
    "53: an incremental pull by GET sends no parameter in a body, not even one of the whole pull",
    arguments: [
      ("", #"since.pages.param: "/page" is a place in the body of a POST"#),
      (#", pages = { param = "/p" }"#, #"since.pages.param: "/p" is a place in the body of a POST"#),
      (#", pages = { param = "p" }"#, nil),
    ])
  func incrementalGET(pages: String, fault: String?) throws {
    let whole = "method = \"POST\"\npages = { param = \"/page\" }\n"
    let since = "since = { at = \"/at\", param = \"s\", method = \"GET\"\(pages) }\n"
    let faults = try workspace.faults(FaultyDefinition.start + whole + since + FaultyDefinition.columns)
    #expect(faults.count == (fault == nil ? 0 : 1), "\(faults)")
    if let fault { #expect(faults.first?.contains("resource.thing.\(fault)") == true, "\(faults)") }
  }

  @Test(
    "53: with from a whole pull sends param too, beside the parameters of its own pages and body",
    arguments: [
      (
        #"pages = { param = "/a/b" }"#, #"param = "/a", from = "0""#,
        #""/a" and "/a/b", which is a parameter of pages, are one in the other"#
      ),
      (#"pages = { param = "/a" }"#, #"param = "/a", from = "0""#, #""/a" is a parameter of pages too"#),
      ("body = { a = [] }", #"param = "/a/0/b", from = "0", body = {}"#, #""/a/0/b" leads through something in body"#),
      (#"pages = { param = "/a/b" }"#, #"param = "/a""#, nil),
      (#"pages = { param = "/c" }"#, #"param = "/a", from = "0""#, nil),
    ])
  func from(whole: String, keys: String, fault: String?) throws {
    let since = "since = { at = \"/at\", pages = { param = \"/p\" }, \(keys) }\n"
    let text = FaultyDefinition.start + "method = \"POST\"\n\(whole)\n\(since)" + FaultyDefinition.columns
    let faults = try workspace.faults(text)
    #expect(faults.count == (fault == nil ? 0 : 1), "\(faults)")
    if let fault { #expect(faults.first?.contains("resource.thing.since.param: \(fault)") == true, "\(faults)") }
  }

  @Test(
    "53: ask needs by_key and a key with the same number of places",
    arguments: [
      ("", #"ask = true, key = "/k""#, "ask: needs by_key"),
      ("by_key = \"/t/{key}\"\n", "ask = true", "key: is missing"),
      ("by_key = \"/t/{key}\"\n", #"ask = true, key = ["/k", "/l"]"#, "key: has another number of places"),
    ])
  func asks(byKey: String, keys: String, fault: String) throws {
    let since = "since = { at = \"/at\", param = \"s\", \(keys) }\n"
    let faults = try workspace.faults(FaultyDefinition.start + byKey + since + FaultyDefinition.columns)
    let line = byKey.isEmpty ? 3 : 4
    #expect(
      faults.count == 1 && faults[0].hasPrefix("rosterd.toml:\(line): resource.thing.since.\(fault)"), "\(faults)")
  }

  @Test(
    "53: a mistake of the incremental request is found at the key that makes it, and the resource's once",
    arguments: [
      ("", #"path = "/things/{page}/of/{page}""#, #"since.path: has {page} twice"#),
      ("", #"path = "/things/{cursor}""#, "since.path: has {cursor}, which the style"),
      ("", #"raw = ["filter"]"#, #"since.raw: "filter" is no parameter of query"#),
      ("", #"format = "form""#, "since.format: is not used with GET"),
      (
        "method = \"POST\"\nbody = { a = { b = 1 } }\n", #"format = "form""#,
        "body: a form has no nested table or list"
      ),
      (
        "method = \"POST\"\n", #"format = "form", body = { a = { b = 1 } }"#,
        "since.body: a form has no nested table or list"
      ),
      (
        "method = \"POST\"\nformat = \"form\"\nbody = { a = { b = 1 } }\n", #"path = "/changes""#,
        "body: a form has no nested table or list"
      ),
    ])
  func incrementalRequest(whole: String, since: String, fault: String) throws {
    let since = "since = { at = \"/at\", param = \"s\", \(since) }\n"
    let faults = try workspace.faults(FaultyDefinition.start + whole + since + FaultyDefinition.columns)
    #expect(faults.count == 1 && faults[0].contains("resource.thing.\(fault)"), "\(faults)")
  }

  @Test("21: with ask, the default of at with the style after is since.key", arguments: [false, true])
  func askedAfter(isNamed: Bool) throws {
    let pages = "pages = { style = \"after\", param = \"a\"\(isNamed ? ", at = \"/id\"" : "") }\n"
    let since = "since = { at = \"/at\", param = \"s\", ask = true, key = \"/ref\" }\n"
    let text = FaultyDefinition.start + "by_key = \"/t/{key}\"\n" + pages + since + FaultyDefinition.columns
    let configuration = try workspace.load(text)
    let thing = configuration.resources[0]
    #expect(thing.pages.style == .after(param: .query("a"), at: JSONPointer(segments: ["id"])))
    let place = JSONPointer(segments: [isNamed ? "id" : "ref"])
    #expect(thing.since?.listing.pages.style == .after(param: .query("a"), at: place))
    #expect(try workspace.load(configuration.rendered()).resources == [thing])
  }

  @Test(#"53: whole_every = "never" is accepted with removal = "never""#)
  func never() throws {
    let since =
      "since = { at = \"/at\", param = \"s\", whole_every = \"never\", overlap = \"1h\", zone = \"-05:30\" }\n"
    let text = FaultyDefinition.start + "removal = \"never\"\n" + since + FaultyDefinition.columns
    #expect(try workspace.faults(text).isEmpty)
  }

  @Test("53: tables of rosterd's own are refused", arguments: ["resource_lists", "cache_lists", "cache_overlaid"])
  func reserved(table: String) throws {
    let faults = try workspace.faults(FaultyDefinition.start + "table = \"\(table)\"\n" + FaultyDefinition.columns)
    #expect(faults.count == 1 && faults[0].contains("is a table of rosterd's own"))
  }
}
