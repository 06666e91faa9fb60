import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Configuration: faults")
struct ConfigurationFaultTests {
  let workspace = Workspace()

  @Test(
    "53: one line names file, line, key, what is wrong and what is allowed, and no secret",
    arguments: faultTable(
      #"""
      [sync]
      concurrency = 100
      => rosterd.toml:2: sync.concurrency: 100 is out of range; allowed: 1 to 64
      \#u{FEFF}[sync]
      concurrency = 0
      => rosterd.toml:2: sync.concurrency: 0 is out of range; allowed: 1 to 64
      upstream.base_url = "http://host:0/"
      => rosterd.toml:1: upstream.base_url: has a port that is not 1 to 65535; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "http://127.0.0.1:99999999999999999999"
      => rosterd.toml:1: upstream.base_url: has a port that is not 1 to 65535; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "http://h"
      auth.token_url = "http://[::1]:99999999999999999999/token"
      => rosterd.toml:2: auth.token_url: has a port that is not 1 to 65535; allowed: an http or https URL without user and fragment, or a path
      [sync]

      concurrency = 0
      => rosterd.toml:3: sync.concurrency: 0 is out of range; allowed: 1 to 64
      limit.rate = -1
      => rosterd.toml:1: limit.rate: -1.0 is out of range; allowed: 0 for no limit, or 0.001 to 1000000
      [limit]
      rate = nan
      => rosterd.toml:2: limit.rate: nan is out of range; allowed: 0 for no limit, or 0.001 to 1000000
      limit.rate = "5"
      => rosterd.toml:1: limit.rate: "5" is a string, not a number; allowed: 0 for no limit, or 0.001 to 1000000
      [limit]
      budget = "10/1x"
      => rosterd.toml:2: limit.budget: "10/1x" is no budget; allowed: a number, a slash and a duration, as in "10000/1d": 1 to 1000000000 requests in 100ms or more; or nothing
      limit.budget = 10000
      => rosterd.toml:1: limit.budget: 10000 is an integer, not a string; allowed: a number, a slash and a duration, as in "10000/1d": 1 to 1000000000 requests in 100ms or more; or nothing
      sync.max_removal = -1
      => rosterd.toml:1: sync.max_removal: -1 is out of range; allowed: 0 to 100
      sync.max_removal = 9223372036854775807
      => rosterd.toml:1: sync.max_removal: 9223372036854775807 is out of range; allowed: 0 to 100
      [sync]
      max_removal = 9223372036854775808
      => rosterd.toml:2: sync.max_removal: is not TOML: error while parsing decimal integer: '…' is not representable in 64 bits; allowed: 0 to 100, in TOML 1.0, once
      sync.concurrency = "8"
      => rosterd.toml:1: sync.concurrency: "8" is a string, not an integer; allowed: 1 to 64
      sync.concurrency = 8.0
      => rosterd.toml:1: sync.concurrency: 8.0 is a float, not an integer; allowed: 1 to 64
      sync.concurrency = true
      => rosterd.toml:1: sync.concurrency: true is a boolean, not an integer; allowed: 1 to 64
      sync.concurrency = 2026-01-01
      => rosterd.toml:1: sync.concurrency: a date or time is not an integer; allowed: 1 to 64
      sync.concurrency = 07:32:00
      => rosterd.toml:1: sync.concurrency: a date or time is not an integer; allowed: 1 to 64
      sync.concurrency = 2026-01-01T07:32:00Z
      => rosterd.toml:1: sync.concurrency: a date or time is not an integer; allowed: 1 to 64
      sync.interval = 900
      => rosterd.toml:1: sync.interval: 900 is an integer, not a duration: it needs a unit and quotes, as in "15m"; allowed: 100ms to 100 years, with a unit: ms s m h d
      sync.interval = 1.5
      => rosterd.toml:1: sync.interval: 1.5 is a float, not a duration: it needs a unit and quotes, as in "15m"; allowed: 100ms to 100 years, with a unit: ms s m h d
      sync.interval = "900"
      => rosterd.toml:1: sync.interval: "900" is not a duration; allowed: 100ms to 100 years, with a unit: ms s m h d
      sync.interval = "99ms"
      => rosterd.toml:1: sync.interval: 99ms is out of range; allowed: 100ms to 100 years, with a unit: ms s m h d
      sync.interval = "-1s"
      => rosterd.toml:1: sync.interval: "-1s" is not a duration; allowed: 100ms to 100 years, with a unit: ms s m h d
      sync.interval = 2026-01-01
      => rosterd.toml:1: sync.interval: a date or time is not a duration; allowed: 100ms to 100 years, with a unit: ms s m h d
      cache.history = "23h"
      => rosterd.toml:1: cache.history: 23h is out of range; allowed: 1d to 100 years, with a unit: ms s m h d
      sync = 5
      => rosterd.toml:1: sync: 5 is an integer, not a table; allowed: [sync]
      [[sync]]
      interval = "1m"
      => rosterd.toml:1: sync: a list is not a table; allowed: [sync]
      [sync]
      intervall = "1m"
      => rosterd.toml:2: sync.intervall: is unknown; allowed: interval, jitter, retry_interval, concurrency, max_pages, max_removal
      [snyc]
      interval = "1m"
      => rosterd.toml:1: snyc: is unknown; allowed: upstream, sync, retry, limit, auth, cache, status, log, resource
      log.level = "verbose"
      => rosterd.toml:1: log.level: "verbose" is unknown; allowed: trace debug info notice warning error critical
      log.level = 1
      => rosterd.toml:1: log.level: 1 is an integer, not a string; allowed: trace debug info notice warning error critical
      log.format = "xml"
      => rosterd.toml:1: log.format: "xml" is unknown; allowed: auto journald text json
      auth.flow = "oauth2"
      => rosterd.toml:1: auth.flow: "oauth2" is unknown; allowed: none static basic oauth2_refresh oauth2_client_credentials authenticate_form bearer_refresh bearer_renew exchange jwt
      auth.logout_status = [403, 200]
      => rosterd.toml:1: auth.logout_status: 200 is out of range; allowed: integers from 400 to 599
      auth.expired.status = [200]
      => rosterd.toml:1: auth.expired.status: 200 is out of range; allowed: integers from 300 to 599
      auth.logout_status = ["403"]
      => rosterd.toml:1: auth.logout_status: "403" is a string, not an integer; allowed: integers from 400 to 599
      auth.logout_status = 403
      => rosterd.toml:1: auth.logout_status: 403 is an integer, not a list of integers; allowed: integers from 400 to 599
      status.socket_mode = "0668"
      => rosterd.toml:1: status.socket_mode: "0668" is not a file mode; allowed: three or four octal digits in quotes, up to "0777"
      status.socket_mode = "04755"
      => rosterd.toml:1: status.socket_mode: "04755" is not a file mode; allowed: three or four octal digits in quotes, up to "0777"
      status.socket_mode = 660
      => rosterd.toml:1: status.socket_mode: 660 is an integer, not a string; allowed: three or four octal digits in quotes, up to "0777"
      status.socket_mode = 0660
      => rosterd.toml:1: status.socket_mode: is not TOML: error while parsing decimal integer: leading zeroes are prohibited; allowed: three or four octal digits in quotes, up to "0777", in TOML 1.0, once
      upstream.base_url = ""
      => rosterd.toml:1: upstream.base_url: is neither http nor https; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "ftp://host"
      => rosterd.toml:1: upstream.base_url: is neither http nor https; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://user:geheim@host"
      => rosterd.toml:1: upstream.base_url: holds a user or a password; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://host/?key=geheim"
      => rosterd.toml:1: upstream.base_url: holds a query; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://host/#part"
      => rosterd.toml:1: upstream.base_url: holds a fragment; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://"
      => rosterd.toml:1: upstream.base_url: names no host; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://host:70000"
      => rosterd.toml:1: upstream.base_url: has a port that is not 1 to 65535; allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://bücher.example/api"
      => rosterd.toml:1: upstream.base_url: has a host with letters beyond ASCII: write its xn-- form (idn2 prints it); allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://b%C3%BCcher.example/api"
      => rosterd.toml:1: upstream.base_url: has a host with letters beyond ASCII: write its xn-- form (idn2 prints it); allowed: an http or https URL without user, query and fragment
      upstream.base_url = "https://ho st"
      => rosterd.toml:1: upstream.base_url: is not a URL; allowed: an http or https URL without user, query and fragment
      auth.token_url = "https://user:geheim@host/token"
      => rosterd.toml:1: auth.token_url: holds a user or a password; allowed: an http or https URL without user and fragment, or a path
      auth.token_url = "ftp://host/token"
      => rosterd.toml:1: auth.token_url: is neither http nor https; allowed: an http or https URL without user and fragment, or a path
      auth.token_url = "to ken"
      => rosterd.toml:1: auth.token_url: is not a URL; allowed: an http or https URL without user and fragment, or a path
      [upstream.tls]
      pins = [
        "sha256/AAAA",
      ]
      => rosterd.toml:2: upstream.tls.pins: "sha256/AAAA" is not a pin; allowed: "sha256/" and the base64 of 32 bytes, each
      [upstream.headers]
      X-Ok = "1"
      "X Bad" = "2"
      => rosterd.toml:3: upstream.headers."X Bad": is not a header name; allowed: letters, digits and !#$%&'*+-.^_`|~
      [upstream.headers]
      X-Api-Key = "geheim\r\nHost: other"
      => rosterd.toml:2: upstream.headers.X-Api-Key: its value holds CR or LF; allowed: one line of text
      [upstream.headers]
      X-Api-Key = "gehe\u0007im"
      => rosterd.toml:2: upstream.headers.X-Api-Key: its value holds a control character; allowed: one line of text
      [upstream.headers]
      X-Api-Key = 4711
      => rosterd.toml:2: upstream.headers.X-Api-Key: a number is not a string; allowed: a string
      [upstream.headers]
      x-tenant = "1"
      X-Tenant = "2"
      => rosterd.toml:2: upstream.headers.x-tenant: is given twice, as X-Tenant too; allowed: each header once, in any case
      [upstream.headers]
      Content-Length = "1"
      => rosterd.toml:2: upstream.headers.Content-Length: is rosterd's own to send; allowed: any other header
      [upstream.headers]
      Accept-Encoding = "br"
      => rosterd.toml:2: upstream.headers.Accept-Encoding: is rosterd's own to send; allowed: any other header
      [upstream.headers]
      host = "other"
      => rosterd.toml:2: upstream.headers.host: is rosterd's own to send; allowed: any other header
      [upstream.headers]
      Expect = "100-continue"
      => rosterd.toml:2: upstream.headers.Expect: is rosterd's own to send; allowed: any other header
      [upstream.headers]
      Upgrade = "h2c"
      => rosterd.toml:2: upstream.headers.Upgrade: is rosterd's own to send; allowed: any other header
      [upstream.headers]
      Connection = "close"
      => rosterd.toml:2: upstream.headers.Connection: is rosterd's own to send; allowed: any other header
      [upstream]
      headers = ["X: 1"]
      => rosterd.toml:2: upstream.headers: a list is not a table of strings; allowed: header names with their values as strings
      [sync]
      interval = "1m"
      interval = "2m"
      => rosterd.toml:3: sync.interval: is not TOML: error while parsing key-value pair: cannot redefine existing string 'interval'; allowed: 100ms to 100 years, with a unit: ms s m h d, in TOML 1.0, once
      [sync]
      [log]
      [sync]
      => rosterd.toml:3: sync: is not TOML: error while parsing table header: cannot redefine existing table 'sync'; allowed: TOML 1.0, each key and table once
      [sync]
      interval =\#u{20}
      => rosterd.toml:2: sync.interval: is not TOML: error while parsing key-value pair: encountered end-of-file; allowed: 100ms to 100 years, with a unit: ms s m h d, in TOML 1.0, once
      [sync]

      interval = "1m
      => rosterd.toml:3: sync.interval: is not TOML: error while parsing string: encountered end-of-file; allowed: 100ms to 100 years, with a unit: ms s m h d, in TOML 1.0, once
      [upstream.headers]
      X-Api-Key = geheim
      => rosterd.toml:2: upstream.headers: is not TOML: error while parsing value: could not determine value type; allowed: header names with their values as strings, in TOML 1.0, once
      [upstream.headers]
      X-Api-Key = 99999999999999999999999
      => rosterd.toml:2: upstream.headers: is not TOML: error while parsing decimal integer: '…' is not representable in 64 bits; allowed: header names with their values as strings, in TOML 1.0, once
      [upstream.headers]
      X-Api-Key = truegeheim
      => rosterd.toml:2: upstream.headers: is not TOML: error while parsing boolean: expected value-terminator, saw 'g'; allowed: header names with their values as strings, in TOML 1.0, once
      [log]
      level = "in\u0000fo"
      => rosterd.toml:2: log.level: is not TOML: NUL in the text; allowed: trace debug info notice warning error critical, in TOML 1.0, once
      """#))
  func refused(text: String, sentence: String) throws {
    let faults = try workspace.faults(text)
    #expect(faults == [sentence])
    #expect(!faults.joined().contains("geheim"))
  }

  @Test("53: a service whose instance name has a colon is refused with a sentence; root alone may use the file")
  func colon() throws {
    func sentences(_ name: String, environment: [String: String]) -> [String] {
      let faults = #expect(throws: ConfigurationFaults.self) {
        try Configuration.load(file: "/etc/rosterd/\(name).toml", environment: environment, isRoot: true)
      }
      return faults?.faults.map(\.description).filter { !$0.contains("cannot be read") } ?? []
    }
    let service = ["STATE_DIRECTORY": "/var/lib/rosterd/a:b"]
    #expect(
      sentences("a:b", environment: service) == [
        "/etc/rosterd/a:b.toml: belongs to rosterd@a:b.service, and systemd has no folders and credentials for a name with a colon; allowed: an instance name without a colon"
      ])
    #expect(sentences("a:b", environment: [:]).isEmpty)
    #expect(sentences("a-b", environment: service).isEmpty)
  }
}
