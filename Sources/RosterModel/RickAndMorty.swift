/// The API that rosterd knows without a configuration.
extension Resource {
  /// What holds where the configuration names no resource: `config/sources/rickandmorty.toml` without its other two.
  package static let character = rickAndMorty(
    "character", table: "characters", search: ["name", "species", "type", "origin_name", "location_name"],
    columns: [
      id, text("name"), text("status"), text("species"), text("type"), text("gender"),
      text("origin_name", "origin", "name"), text("origin_url", "origin", "url"),
      text("location_name", "location", "name"), text("location_url", "location", "url"),
      text("image"), text("url"), text("created"),
    ],
    list: addresses("character_episodes", "episode"))

  /// Not pulled unless it is defined; the demo and tests have several resources with it.
  package static let location = rickAndMorty(
    "location", table: "locations", search: ["name", "type", "dimension"],
    columns: [id, text("name"), text("type"), text("dimension"), text("url"), text("created")],
    list: addresses("location_residents", "residents"))

  /// Likewise.
  package static let episode = rickAndMorty(
    "episode", table: "episodes", search: ["name", "episode"],
    columns: [id, text("name"), text("air_date"), text("episode"), text("url"), text("created")],
    list: addresses("episode_characters", "characters"))

  private static let id = Column("id", at: JSONPointer(segments: ["id"]), .integer)

  private static func text(_ name: String, _ segments: String...) -> Column {
    Column(name, at: JSONPointer(segments: segments.isEmpty ? [name] : segments))
  }

  private static func addresses(_ table: String, _ field: String) -> List {
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
