package import RosterModel

extension Flow {
  /// Names of the credential files without which no session can begin. The token store may replace the file
  /// (`isKept`).
  package var neededCredentials: [String] {
    let files: [CredentialFile] =
      switch self {
      case .none: []
      case .static, .bearerRenew: [.accessToken]
      case .basic: [.username]
      case .oauth2Refresh, .authenticateForm, .bearerRefresh: [.refreshToken]
      case .oauth2ClientCredentials: [.clientID, .clientSecret]
      }
    return files.map(\.rawValue)
  }

  /// True if the token store keeps what replaces the needed credential.
  package var isKept: Bool { refreshes && self != .oauth2ClientCredentials }
}
