import ArgumentParser
import RosterConfiguration

struct CheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Checks the configuration and prints it as it will be used; touches nothing.")

  @OptionGroup var options: ConfigurationOption

  func run() throws {
    try answer(try options.load(isLogging: false).rendered())
  }
}
