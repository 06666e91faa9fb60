/// The API that rosterd uses without a configuration.
extension Resource {
  /// The resource that applies if the configuration names none: the first one of `config/sources/rickandmorty.toml`.
  package static let character = rickAndMorty(
    "character", table: "characters", search: ["name", "species", "type", "origin_name", "location_name"],
    columns: [
      id, text("name"), text("status"), text("species"), text("type"), text("gender"),
      text("origin_name", segments: "origin", "name"), text("origin_url", segments: "origin", "url"),
      text("location_name", segments: "location", "name"), text("location_url", segments: "location", "url"),
      text("image"), text("url"), text("created"),
    ],
    list: addresses("character_episodes", field: "episode"))

  /// The locations, for configurations that define them, such as those of the demo and the tests.
  package static let location = rickAndMorty(
    "location", table: "locations", search: ["name", "type", "dimension"],
    columns: [id, text("name"), text("type"), text("dimension"), text("url"), text("created")],
    list: addresses("location_residents", field: "residents"))

  /// The episodes, for the same configurations.
  package static let episode = rickAndMorty(
    "episode", table: "episodes", search: ["name", "episode"],
    columns: [id, text("name"), text("air_date"), text("episode"), text("url"), text("created")],
    list: addresses("episode_characters", field: "characters"))

  private static let id = Column("id", at: JSONPointer(segments: ["id"]), .integer)

  private static func text(_ name: String, segments: String...) -> Column {
    Column(name, at: JSONPointer(segments: segments.isEmpty ? [name] : segments))
  }

  private static func addresses(_ table: String, field: String) -> List {
    List(table: table, at: JSONPointer(segments: [field]), columns: [Column("url", at: JSONPointer())])
  }

  private static func rickAndMorty(
    _ name: String, table: String, search: [String], columns: [Column], list: List
  ) -> Resource {
    Resource(
      name: name, path: "/\(name)", records: JSONPointer(segments: ["results"]), table: table, search: search,
      byKey: "/\(name)/{keys}",
      pages: Pages(
        .number(last: .body(JSONPointer(segments: ["info", "pages"]))),
        count: .body(JSONPointer(segments: ["info", "count"]))),
      columns: columns, lists: [list])
  }
}
