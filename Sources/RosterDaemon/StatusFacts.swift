import RosterCache
import RosterStatus

extension RosterStatus.CacheFacts {
  init(_ facts: RosterCache.CacheFacts) {
    self.init(
      snapshot: facts.snapshot, publishedAt: facts.publishedAt, verifiedAt: facts.verifiedAt,
      characters: facts.characters, pages: facts.pages, isLogHeld: facts.isLogHeld)
  }
}
