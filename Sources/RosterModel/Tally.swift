import Synchronization

/// What one sync has done so far, counted from many tasks, read by the status at any time.
package final class Tally: Sendable {
  package struct Counts: Sendable, Equatable {
    /// In the order of the configuration.
    package var resources: [DaemonStatus.PulledResource]
    package var inFlight = 0
    package var requests = 0
    package var notModified = 0
    package var resumed = 0
    package var retries = 0
    package var refreshes = 0
    package var bytes = 0

    package init(resources: [String] = []) {
      self.resources = resources.map(DaemonStatus.PulledResource.init)
    }

    package var pagesDone: Int { resources.reduce(0) { $0 + $1.pagesDone } }
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

  package var now: Counts { counts.withLock { $0 } }

  @discardableResult
  package func update<Value: Sendable>(_ change: (inout Counts) -> Value) -> Value {
    counts.withLock { change(&$0) }
  }
}
