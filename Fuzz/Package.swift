// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")

func nio(_ module: String) -> Target.Dependency {
  .product(name: module, package: "swift-nio")
}

/// A target of the product with the fuzzer's instrumentation. Some targets include only the sources that need no
/// adapter's library.
func product(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], sources: [String]? = nil
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Product/\(name)", exclude: exclude, sources: sources,
    swiftSettings: settings)
}

let package = Package(
  name: "fuzz",
  dependencies: [
    // The same versions as in ../Package.swift; `run` compares them.
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/LebJe/TOMLKit", exact: "0.6.0"),
  ],
  targets: [
    product("RosterCore", ["CMalloc"]),
    product("RosterDecode", ["RosterCore"]),
    product(
      "RosterDefinition",
      ["RosterCore", "RosterDecode", log, .product(name: "TOMLKit", package: "TOMLKit")]),
    product(
      "RosterAuth", ["RosterCore", "RosterDecode"],
      sources: [
        "AppliedToken.swift", "Grant.swift", "GrantOutcome.swift", "SecretMask.swift", "ServerStatement.swift",
        "Token.swift", "TokenSettings.swift",
      ]),
    product("RosterFetch", ["RosterCore", "RosterDecode"], sources: ["Paging", "Origin.swift"]),
    product(
      "RosterSync", ["RosterCore", "RosterFetch", "RosterCache"],
      sources: ["ListWay.swift", "PageEdges.swift", "PullPlan.swift", "RepeatedPages.swift", "ValidatorLie.swift"]),
    product(
      "RosterCache", ["RosterCore", "RosterDefinition", "RosterDecode", "CSQLite", log]),
    product("RosterTerminal", ["RosterCore", "RosterDecode"]),
    .target(
      name: "PageAssets", path: "Product/RosterStatus/Assets",
      exclude: ["page.html", "page.css", "page.js", "page.svg", "openapi.json"]),
    product(
      "RosterStatus",
      [
        "RosterCore", "RosterDecode", "RosterTerminal", "PageAssets", log, nio("NIOCore"), nio("NIOPosix"),
        nio("NIOHTTP1"),
      ], exclude: ["Assets"]),
    product("RosterStatusClient", ["RosterCore", nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1")]),
    .systemLibrary(name: "CMalloc", path: "Product/CMalloc"),
    .systemLibrary(name: "CSQLite", path: "Product/CSQLite", pkgConfig: "sqlite3"),
    .executableTarget(
      name: "Fuzzer",
      dependencies: [
        "RosterCore", "RosterDecode", "RosterDefinition", "RosterAuth", "RosterFetch", "RosterSync", "RosterCache",
        "RosterStatus", "RosterStatusClient", log, nio("NIOCore"), nio("NIOEmbedded"), nio("NIOHTTP1"),
      ],
      path: "Fuzzer", swiftSettings: settings),
  ]
)
