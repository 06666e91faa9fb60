/// Everything that is wrong with a configuration, found in one go.
package struct ConfigurationFaults: Error, Sendable, Equatable {
  /// One thing that is wrong: where, with which key, what, and what is allowed.
  package struct Fault: Sendable, Equatable, CustomStringConvertible {
    /// `FILE:LINE`, `FILE`, or the environment variable.
    package var place: String
    /// nil where the file as a whole is at fault.
    package var key: String?
    package var problem: String
    package var allowed: String?

    package var description: String {
      let what = "\(place): " + (key.map { "\($0) " } ?? "") + problem
      return allowed.map { "\(what); allowed: \($0)" } ?? what
    }
  }

  package var faults: [Fault]
}
