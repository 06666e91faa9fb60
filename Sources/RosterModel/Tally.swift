import Synchronization

/// What one sync has done so far, counted from many tasks, read by the status at any time.
package final class Tally: Sendable {
  /// What was counted up to one moment.
  package struct Counts: Sendable, Equatable {
    /// In the order of the configuration.
    package var resources: [DaemonStatus.PulledResource]
    /// Pages that are asked for, be it that they wait for a retry or a token.
    package var inFlight = 0
    /// Every attempt and redirect hop.
    package var requests = 0
    /// Pages that upstream said to be unchanged (304).
    package var notModified = 0
    /// Pages taken over from a sync that was broken off (P4).
    package var resumed = 0
    /// Repeats by P11 except those for 401.
    package var retries = 0
    /// Token requests that succeeded.
    package var refreshes = 0
    /// Body bytes as received.
    package var bytes = 0

    /// Nothing yet, of resources of those names.
    package init(resources: [String] = []) {
      self.resources = resources.map(DaemonStatus.PulledResource.init)
    }

    /// Of all resources, in the current pull.
    package var pagesDone: Int { resources.reduce(0) { $0 + $1.pagesDone } }
    /// On the pages that are done.
    package var records: Int { resources.reduce(0) { $0 + $1.records } }

    /// nil where one of them is not known.
    package var pagesTotal: Int? {
      var total = 0
      for pulled in resources {
        guard let pages = pulled.pagesTotal else { return nil }
        total += pages
      }
      return resources.isEmpty ? nil : total
    }

    /// A page of a resource is there.
    /// - Parameter pages: of the resource; nil: no answer tells.
    package mutating func done(_ resource: String, records: Int, pages: Int?) {
      guard let index = resources.firstIndex(where: { $0.name == resource }) else { return }
      resources[index].pagesDone += 1
      resources[index].pagesTotal = pages
      resources[index].records += records
    }

    /// A resource is pulled again from its first page on.
    package mutating func restart(_ resource: String) {
      guard let index = resources.firstIndex(where: { $0.name == resource }) else { return }
      resources[index] = DaemonStatus.PulledResource(name: resource)
    }
  }

  private let counts: Mutex<Counts>

  /// - Parameter resources: names of what is pulled.
  package init(resources: [String] = []) {
    counts = Mutex(Counts(resources: resources))
  }

  /// All of it as of one moment.
  package var now: Counts { counts.withLock { $0 } }

  /// Changes all of it at once, and returns what the change returns.
  @discardableResult
  package func update<Value: Sendable>(_ change: (inout Counts) -> Value) -> Value {
    counts.withLock { change(&$0) }
  }
}
