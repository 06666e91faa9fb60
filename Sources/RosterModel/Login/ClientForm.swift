/// `auth.client`: how a token request of OAuth 2 identifies a client that has a secret (T11.2).
package enum ClientForm: String, Sendable, CaseIterable {
  /// HTTP Basic, with name and secret form-encoded (RFC 6749 §2.3.1).
  case basic
  /// `client_id` and `client_secret` in the form.
  case body
  /// HTTP Basic, with name and secret not encoded, as some servers expect it.
  case basicRaw = "basic_raw"
}
