package import FoundationEssentials

/// A page that was transferred and decoded, on its way to the stage.
package struct PulledPage: Sendable, Equatable {
  /// N of `?page=N`, from 1.
  package var number: Int
  package var page: Page
  package var validator: Validator
  package var receivedAt: Date

  package init(number: Int, page: Page, validator: Validator, receivedAt: Date) {
    self.number = number
    self.page = page
    self.validator = validator
    self.receivedAt = receivedAt
  }
}

/// What the cache holds of a page already: published, or staged by a sync that was broken off.
package struct HeldPage: Sendable, Equatable {
  package var number: Int
  package var validator: Validator
  package var isPublished: Bool
  /// `info.count` and `info.pages` as the page had them.
  package var count: Int
  package var pages: Int
  /// Records on it that can be stored.
  package var characters: Int
  package var receivedAt: Date

  package init(
    number: Int, validator: Validator, isPublished: Bool, count: Int, pages: Int, characters: Int, receivedAt: Date
  ) {
    self.number = number
    self.validator = validator
    self.isPublished = isPublished
    self.count = count
    self.pages = pages
    self.characters = characters
    self.receivedAt = receivedAt
  }
}
