import FoundationEssentials
import Glibc
import RosterCore
import RosterSimulator
import RosterTestSupport
import Testing

/// The completions that shells offer for a resource.
@Suite(.timeLimit(.minutes(1))) struct CompletionTests {
  /// Requests completions as argument-parser's generated scripts do.
  private func offered(_ words: [String], cache: String? = nil) async throws -> Program.Outcome {
    try await Program.run(
      try Program.built("rosterctl"),
      arguments: ["---completion", words[1], "--", "positional@0", "\(words.count - 1)", "0"] + words,
      environment: ["ROSTERD_CACHE_PATH": cache ?? "/nonexistent/roster.db", "SAP_SHELL": "bash"])
  }

  @Test("Completion offers the resources of the cache that --cache or the environment names, for list and show")
  func resources() async throws {
    try await withSite(.pages(1)) { site in
      _ = try await site.sync()
      for command in ["list", "show"] {
        #expect(try await offered(["rosterctl", command, ""], cache: site.cache).output == "character\n")
        for option in [["--cache", site.cache], ["--cache=\(site.cache)"], ["--cache", "=", site.cache]] {
          #expect(try await offered(["rosterctl", command] + option + [""]).output == "character\n", "\(option)")
        }
        let file = site.folder + "/named.toml"
        try Data("[cache]\npath = \"\(site.cache)\"\n".utf8).write(to: URL(filePath: file))
        #expect(try await offered(["rosterctl", command, "--config", file, ""]).output == "character\n")
      }
    }
  }

  @Test("Completion offers nothing and prints nothing if no cache can be read")
  func nothing() async throws {
    try await withFolder { folder in
      let text = folder + "/text.db"
      try Data("no database".utf8).write(to: URL(filePath: text))
      for cache in [nil, text, folder] {
        let outcome = try await offered(["rosterctl", "list", ""], cache: cache)
        #expect(outcome.exit == 0 && outcome.error.isEmpty, "\(outcome.error)")
        #expect(outcome.output.split(separator: "\n").isEmpty, "\(outcome.output)")
      }
    }
  }

  @Test("bash completes a resource's name with the installed script")
  func bash() async throws {
    try await withSite(.pages(1)) { site in
      _ = try await site.sync()
      let program = try Program.built("rosterctl")
      let script = """
        rosterctl() { '\(program)' "$@"; }
        source <('\(program)' --generate-completion-script bash)
        COMP_WORDS=(rosterctl list ch) COMP_CWORD=2 COMP_LINE='rosterctl list ch' COMP_POINT=17 COMP_TYPE=9 COMP_KEY=9
        _rosterctl rosterctl ch list
        printf '%s\\n' "${COMPREPLY[@]}"
        """
      let folder = String(program.dropLast("/rosterctl".count))
      let outcome = try await Program.run(
        "/bin/bash", arguments: ["-c", script],
        environment: ["ROSTERD_CACHE_PATH": site.cache, "PATH": "\(folder):\(site.settings["PATH"] ?? "")"])
      #expect(outcome.output.contains("character"), "\(outcome.output)\(outcome.error)")
    }
  }
}
