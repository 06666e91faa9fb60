import FoundationEssentials
import RosterCache
import RosterCore
import RosterFetch

/// Reports the progress of a pull, in the sync's counts and as events.
struct PullProgress: Sendable {
  let context: PageFetcher.SyncContext
  let host: any SyncHost

  private var tally: Tally { context.tally }

  func asks() { tally.update { $0.inFlight += 1 } }

  func answered() { tally.update { $0.inFlight -= 1 } }

  /// - Parameter time: time of the answer that an interrupted sync received.
  func resumed(answerOf time: Date) {
    tally.update {
      $0.resumed += 1
      $0.uses(answerOf: time)
    }
  }

  /// - Parameter time: time of an answer in this sync.
  func received(at time: Date) { tally.update { $0.uses(answerOf: time) } }

  /// - Parameter isKept: true if an interrupted sync kept the page.
  func notModified(isKept: Bool) {
    tally.update {
      $0.notModified += 1
      if isKept { $0.resumed += 1 }
    }
  }

  /// Reports the end of a child list.
  func ended(_ end: ListEnd) {
    tally.update { $0.endList(of: end.resource) }
    switch end.state {
    case .pulled, .empty: break
    case .failed(let error): tell(.listFailed, end: end, error: error)
    case .vanished(let error): tell(.listVanished, end: end, error: error)
    }
  }

  private func tell(_ name: Event.Name, end: ListEnd, error: String) {
    var event = Event(name, sync: context.sync, resource: end.resource, error: error)
    event.of = end.place.path
    host.tell(event)
  }

  /// - Parameters:
  ///   - storable: records of the page, by resource.
  ///   - pages: number of pages of the list; nil while it is not known.
  func done(_ page: Int, of list: PulledList, storable: [Int], pages: Int?) {
    let (done, total) = tally.update { counts in
      for (resource, records) in zip(list.resources, storable) {
        counts.done(resource, records: records, pages: list.isChild ? nil : pages)
      }
      return (counts.pagesDone, counts.pagesTotal)
    }
    if page == 1 { host.entered(.pulling) }
    for resource in list.resources {
      host.tell(
        Event(
          .pageFetched, sync: context.sync, resource: resource, page: page, pagesDone: done, pagesTotal: total))
    }
  }
}
