import ArgumentParser
import RosterCore
import RosterDaemon
import RosterDefinition
import RosterTerminal

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Checks the configuration and prints it as it will be used, and what it will cost; touches nothing.",
    discussion: "A credential that auth.flow needs and that does not exist is a note on stderr.")

  @OptionGroup var options: ConfigurationOption

  func run() throws {
    let configuration = try options.load(isLogging: false)
    do throws(Failure) { try configuration.checkAssertionKey() } catch {
      complain("\(error)")
      throw ExitCode(error.kind.exitCode)
    }
    let cost = cost(of: configuration)
    try answer("\(configuration.rendered())\n\(cost.text)")
    if let warning = cost.warning { complain("warning: \(warning)") }
    let notes =
      configuration.refusedCredentials() + configuration.missingCredentials() + configuration.oddCredentials()
      + [configuration.missingClaims, configuration.foreignSession(), configuration.renewalWarning].compactMap(\.self)
    for sentence in notes { complain("note: \(sentence)") }
  }

  private func cost(of configuration: Configuration) -> CostText {
    var (last, why): ((all: Int, costs: [String: PullCost])?, String) = (nil, "there was no sync yet")
    do { last = try requestsOfLastSync(cachePath: configuration.cache.path) } catch {
      // A TOML comment is a single line.
      why = "\(error)".replacing("\n", with: " ")
    }
    // Inline records are a page of the sync, but no request.
    let inline = configuration.resources.filter(\.hasOwnRecords)
    let asked = configuration.resources.filter { !$0.hasOwnRecords }
    let costs = asked.compactMap { resource in last?.costs[resource.name].map { ResourceCost(resource, cost: $0) } }
    let others = asked.filter { last?.costs[$0.name] == nil }
    let names = Set(configuration.resources.map(\.name))
    let hasRemoved = last.map { !names.isSuperset(of: $0.costs.keys) } ?? false
    let requests = last.map { last in inline.reduce(last.all) { $0 - (last.costs[$1.name]?.whole ?? 0) } }
    return CostText(
      requests: requests, unknown: why, interval: configuration.sync.interval, budget: configuration.limit.budget,
      resources: costs, others: others, hasRemoved: hasRemoved)
  }
}
