import RosterCore
import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite struct DefinitionTextTests {
  let workspace = Workspace()

  private func load(_ toml: String) throws -> Configuration {
    try Configuration.load(file: try workspace.write(toml), environment: [:], isRoot: true).configuration
  }

  @Test(
    "The configuration's reader accepts infer's output for ten public APIs, with the same definition",
    arguments: Sample.all)
  func isTaken(sample: Sample) throws {
    let finding = try sample.finding()
    let configuration = try load(finding.toml)
    #expect(configuration.resources == [finding.resource])
    #expect(configuration.upstream.baseURL == finding.baseURL)
  }

  @Test("A comment of infer's output that is an optional line is accepted by the reader too", arguments: Sample.all)
  func suggestionsAreTaken(sample: Sample) throws {
    var finding = try sample.finding()
    let texts: [Note.Place] = [.condition, .search, .byKey, .count, .beyond, .headers]
    let lines = finding.notes.filter { texts.contains($0.place) }.flatMap(\.lines)
    finding.notes = []
    var toml = finding.toml
    for line in lines {
      let isOfPages = ["count", "beyond"].contains { line.hasPrefix($0) }
      let table = "[resource.\(finding.resource.name)\(isOfPages ? ".pages" : "")]\n"
      toml = toml.replacing(table, with: "\(table)\(line)\n")
    }
    #expect(throws: Never.self) { try load(toml) }
    #expect(lines.isEmpty == (sample.url == nil))
  }

  @Test("infer's output for Stripe's customers")
  func stripe() throws {
    let given = [Request.Header("Authorization", "Bearer sk_test_1"), .init("Stripe-Version", "2025-10-29.clover")]
    #expect(
      try Sample.stripe.finding(given).toml == """
        # Inferred by rosterd from 2 records of https://api.stripe.com/v1/customers.
        # Read and correct it: "not seen" marks what one answer cannot show. Then: rosterd check --config FILE

        [upstream]
        base_url = "https://api.stripe.com/v1"
        headers = { Stripe-Version = "2025-10-29.clover" }

        # the header Authorization is not shown here. Put its secret into the file `access_token` in
        # auth.credentials_dir, and add:
        # [auth]
        # flow = "static"

        [resource.customer]
        path = "/customers"
        records = "/data"
        key = "/id"  # not seen: whether this field is unique beyond these 2 records
        table = "customers"
        # search = ["name"]  # full-text search
        # not seen: whether this address returns one record; with `by_key`, a sync confirms removals at once
        # by_key = "/customers/{key}"

        [resource.customer.pages]
        style = "after"
        param = "starting_after"  # not seen: the parameter's name; this is Stripe's
        size = 2
        size_param = "limit"
        more = "/has_more"
        # not seen: the number of all records; the end of the list proves that a pull is complete

        [resource.customer.columns]
        # whole numbers in this answer, `real` in case other records have fractions: /balance, /created
        # not seen: the types of these fields, which are null in all records: /default_source, /description, /phone,
        # /shipping
        # without a column, so kept in `extra`: 1 more field of /address
        id = "/id"
        object = "/object"
        address_city = { at = "/address/city", type = "text", null = true }
        address_country = { at = "/address/country", type = "text", null = true }
        address_line1 = { at = "/address/line1", type = "text", null = true }
        address_postal_code = { at = "/address/postal_code", type = "text", null = true }
        address_state = { at = "/address/state", type = "text", null = true }
        balance = { at = "/balance", type = "real" }
        created = { at = "/created", type = "real" }
        currency = { at = "/currency", type = "text", null = true }
        delinquent = { at = "/delinquent", type = "boolean" }
        email = { at = "/email", type = "text", null = true }
        invoice_prefix = "/invoice_prefix"
        livemode = { at = "/livemode", type = "boolean" }
        metadata = { at = "/metadata", type = "json" }
        name = "/name"
        tax_exempt = "/tax_exempt"

        [resource.customer.lists.customer_preferred_locales]
        at = "/preferred_locales"
        columns = { preferred_locale = "" }

        """)
  }
}
