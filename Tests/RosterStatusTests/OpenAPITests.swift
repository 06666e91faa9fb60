import FoundationEssentials
import RosterCore
import Testing

@testable import RosterStatus

@Suite struct OpenAPITests {
  private struct Document: Decodable {
    struct Info: Decodable { var version: String }
    /// The operations by path and method.
    var paths: [String: [String: Operation]]
    var openapi: String
    var info: Info
  }
  private struct Operation: Decodable { var operationId: String }

  @Test("The OpenAPI document is JSON, names this version, and has no operation twice")
  func document() throws {
    let document = try JSONDecoder().decode(Document.self, from: Data(StatusRoutes.openAPI.utf8))
    #expect(document.openapi == "3.1.1" && document.info.version == rosterdVersion)
    let names = document.paths.values.flatMap { $0.values.map(\.operationId) }
    #expect(Set(names).count == names.count)
  }

  @Test("The paths and methods of the OpenAPI document are those that are answered")
  func paths() throws {
    let document = try JSONDecoder().decode(Document.self, from: Data(StatusRoutes.openAPI.utf8))
    let routes = makeRoutes()
    for (path, operations) in document.paths {
      guard case .now(let refused) = routes.answer(StatusRequest(method: "DELETE", target: path)) else {
        Issue.record("\(path) takes DELETE")
        continue
      }
      #expect(refused.status == 405, "\(path)")
      let allowed = refused["allow"]?.split(separator: ", ").map { $0.lowercased() }
      #expect(allowed?.sorted() == operations.keys.sorted(), "\(path)")
    }
  }
}
