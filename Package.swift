// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Settings of targets that run once in a sync or once for a command. They become a tenth smaller, and their speed is
/// not noticed.
let smallSettings = settings + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// Settings of targets with async functions that run for each page. The functions stay on the executor of their caller,
/// which avoids a quarter of the forty changes of executor that an unchanged page costs.
let pageSettings: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let log: Target.Dependency = .product(name: "Logging", package: "swift-log")

func nio(_ module: String) -> Target.Dependency {
  .product(name: module, package: "swift-nio")
}

/// Every target names what it may import, and nothing else compiles.
func library(
  _ name: String, isSmall: Bool = false, isForPages: Bool = false, _ dependencies: [Target.Dependency],
  exclude: [String] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: exclude,
    swiftSettings: (isSmall ? smallSettings : settings) + (isForPages ? pageSettings : []))
}

func program(
  _ name: String, _ dependencies: [Target.Dependency], path: String? = nil, exclude: [String] = []
) -> Target {
  .executableTarget(
    name: name,
    dependencies: dependencies + [
      .product(name: "ArgumentParser", package: "swift-argument-parser")
    ],
    path: path, exclude: exclude, swiftSettings: smallSettings)
}

/// - Parameter part: The folder of the target that is tested, if it has tests of its own.
func tests(
  of name: String, part: String? = nil, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
  .testTarget(
    name: "Roster\(part ?? String(name.dropFirst("Roster".count)))Tests",
    dependencies: [.target(name: name), "RosterTestSupport"] + dependencies
      + (name == "RosterCore" ? [] : ["RosterCore"]),
    exclude: exclude, swiftSettings: settings)
}

let package = Package(
  name: "rosterd",
  products: [
    .executable(name: "rosterd", targets: ["rosterd"]),
    .executable(name: "rosterctl", targets: ["rosterctl"]),
    .executable(name: "rosterd-postgres", targets: ["rosterd-postgres"]),
    .library(name: "DiskFaults", type: .dynamic, targets: ["DiskFaults"]),
  ],
  // Exact, because Package.resolved is not committed: this is what makes a build repeatable.
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    .package(url: "https://github.com/LebJe/TOMLKit", exact: "0.6.0"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
  ],
  targets: [
    library("RosterCore", isSmall: true, ["CMalloc"]),
    library(
      "RosterDefinition", isSmall: true,
      ["RosterCore", "RosterDecode", log, .product(name: "TOMLKit", package: "TOMLKit")]),
    // The only target with libcrypto.
    library("RosterAuth", isSmall: true, ["RosterCore", "RosterDecode", "CCrypto", log]),
    library("RosterDecode", ["RosterCore"]),
    library(
      "RosterFetch", isForPages: true,
      [
        "RosterCore", "RosterDecode", "RosterAuth", "CZlib", log, nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"),
        nio("NIOTLS"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ]),
    library(
      "RosterCache", ["RosterCore", "RosterDefinition", "RosterDecode", "CSQLite", log]),
    library(
      "RosterSync", isSmall: true, isForPages: true,
      ["RosterCore", "RosterDecode", "RosterAuth", "RosterFetch", "RosterCache", log]),
    library(
      "RosterStatus", isSmall: true,
      [
        "RosterCore", "RosterDecode", "RosterTerminal", "PageAssets", log, nio("NIOCore"), nio("NIOPosix"),
        nio("NIOHTTP1"),
      ], exclude: ["Assets"]),
    library(
      "RosterStatusClient", isSmall: true,
      ["RosterCore", nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1")]),
    // Apart from the target around it, because a target is of one language.
    .target(
      name: "PageAssets", path: "Sources/RosterStatus/Assets",
      exclude: ["page.html", "page.css", "page.js", "page.svg", "openapi.json"]),
    library("RosterSystemd", isSmall: true, ["RosterCore", "RosterDecode", "CSystemd", log]),
    library(
      "RosterSimulator", isSmall: true,
      ["RosterCore", "RosterDecode", nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1")]),
    library("RosterTerminal", isSmall: true, ["RosterCore", "RosterDecode"]),
    library(
      "RosterDaemon", isSmall: true, isForPages: true,
      [
        "RosterCore", "RosterDefinition", "RosterAuth", "RosterFetch", "RosterDecode", "RosterCache", "RosterSync",
        "RosterStatus", "RosterSystemd", log, .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ]),
    .systemLibrary(name: "CMalloc"),
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(
      name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    library("RosterPostgres", isSmall: true, ["RosterCore", "CPostgres"]),
    // A program and a package of its own: rosterd needs no libpq.
    program(
      "rosterd-postgres",
      ["RosterCore", "RosterDefinition", "RosterCache", "RosterPostgres", "RosterSystemd", "RosterTerminal", log]),
    program(
      "rosterd",
      [
        "RosterCore", "RosterDecode", "RosterDefinition", "RosterCache", "RosterDaemon", "RosterSimulator",
        "RosterStatusClient", "RosterSystemd", "RosterTerminal", log,
      ]),
    // No HTTP client and no TLS: a test looks into it.
    program(
      "rosterctl",
      [
        "RosterCore", "RosterDecode", "RosterDefinition", "RosterStatusClient", "RosterCache", "RosterSystemd",
        "RosterTerminal",
      ]),

    // No product: `make bench` builds it.
    program(
      "RosterBenchmarks",
      [
        "RosterCore", "RosterDecode", "RosterAuth", "RosterFetch", "RosterCache", "RosterSync", "RosterSimulator",
        "GrowthKinds", "CSQLite", log,
      ], path: "Benchmarks", exclude: ["base.json"]),
    .target(
      name: "RosterTestSupport", dependencies: ["RosterCore"], path: "Tests/RosterTestSupport",
      swiftSettings: settings),
    // Apart from RosterTestSupport, which needs Testing: benchmarks are built as a release.
    .target(
      name: "GrowthKinds", dependencies: ["RosterCore"], path: "Tests/GrowthKinds", swiftSettings: settings),
    // A rosterd whose month takes minutes: no product, tests start it.
    .executableTarget(
      name: "HastyRosterd", dependencies: ["RosterCore", "RosterDefinition", "RosterDaemon", "RosterSystemd"],
      path: "Tests/HastyRosterd", swiftSettings: settings),
    // The upstream of the tests that are not written in Swift: no product of a release.
    program(
      "roster-simulator", ["RosterCore", "RosterDecode", "RosterSimulator"], path: "Tests/Simulator"),
    // Loaded into the real program by tests: makes its file calls fail.
    .target(name: "DiskFaults", path: "Tests/DiskFaults"),
    tests(of: "RosterCore"),
    tests(of: "RosterAuth", [log]),
    tests(of: "RosterDecode", part: "JSON"),
    tests(of: "RosterDefinition", part: "Inference", ["RosterDecode", "RosterFetch"]),
    tests(of: "RosterCore", part: "Files"),
    tests(of: "RosterDefinition", part: "Configuration"),
    tests(of: "RosterDecode"),
    tests(
      of: "RosterFetch",
      ["RosterAuth", "RosterDecode", "RosterSimulator", log, nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1")]),
    tests(of: "RosterCache", ["GrowthKinds", "RosterDecode"], exclude: ["Fixtures"]),
    tests(of: "RosterSync", ["RosterDecode", "RosterAuth", "RosterFetch", "RosterCache", log]),
    tests(
      of: "RosterStatus",
      ["PageAssets", "RosterStatusClient", log, nio("NIOCore"), nio("NIOEmbedded"), nio("NIOPosix")]),
    tests(of: "RosterStatusClient"),
    tests(of: "RosterSystemd", [log]),
    tests(of: "RosterPostgres"),
    tests(of: "RosterSimulator", ["RosterFetch"]),
    tests(of: "RosterTerminal"),
    tests(
      of: "RosterDaemon",
      [
        "RosterDefinition", "RosterAuth", "RosterFetch", "RosterCache", "RosterSync", "RosterStatus", "RosterSystemd",
        "RosterSimulator", log,
      ]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "rosterd", "rosterctl", "rosterd-postgres", "roster-simulator", "HastyRosterd", "RosterDecode", "RosterCore",
        "RosterSimulator", "RosterStatus", "RosterStatusClient", "RosterTestSupport",
      ],
      swiftSettings: settings),
  ]
)
