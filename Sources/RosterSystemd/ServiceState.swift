internal import CSystemd
import FoundationEssentials
import Glibc
package import RosterCore

/// Reads the state of a service from systemd (org.freedesktop.systemd1(5)).
package enum ServiceState {
  /// nil if the service has not failed, or systemd does not answer: any user may ask, but not every machine has a bus.
  /// - Parameter unit: Its name, without `.service`.
  package static func failure(of unit: String) -> ServiceFailure? {
    guard sd_booted() > 0, let bus = SystemBus(unit: "\(unit).service") else { return nil }
    defer { bus.close() }
    guard let state = bus.text("ActiveState", of: .unit), ["failed", "activating"].contains(state),
      let result = bus.text("Result", of: .service), result != "success"
    else { return nil }
    // CLD_EXITED of waitid(2).
    let hasExited = bus.number("ExecMainCode") == 1
    let ended = bus.time("ExecMainExitTimestamp")
    return ServiceFailure(
      unit: unit, at: ended.map { Date(timeIntervalSince1970: Double($0) / 1_000_000).rfc3339 }, result: result,
      exitStatus: hasExited ? bus.number("ExecMainStatus") : nil, status: bus.text("StatusText", of: .service) ?? "")
  }
}

/// A connection to systemd over the system's bus, for one unit (sd-bus(3)).
private struct SystemBus {
  enum Interface: String {
    case unit = "org.freedesktop.systemd1.Unit"
    case service = "org.freedesktop.systemd1.Service"
  }

  private let bus: OpaquePointer
  private let path: String

  /// nil if there is no bus.
  init?(unit: String) {
    var connection: OpaquePointer?
    guard sd_bus_open_system(&connection) >= 0, let connection else { return nil }
    sd_bus_set_method_call_timeout(connection, Self.patience)
    var encoded: UnsafeMutablePointer<CChar>?
    guard sd_bus_path_encode("/org/freedesktop/systemd1/unit", unit, &encoded) >= 0, let encoded else {
      sd_bus_flush_close_unref(connection)
      return nil
    }
    defer { free(encoded) }
    (bus, path) = (connection, String(cString: encoded))
  }

  func close() { sd_bus_flush_close_unref(bus) }

  func text(_ property: String, of interface: Interface) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard sd_bus_get_property_string(bus, Self.name, path, interface.rawValue, property, nil, &text) >= 0, let text
    else { return nil }
    defer { free(text) }
    return String(cString: text)
  }

  func number(_ property: String) -> Int32? {
    var number: Int32 = 0
    return get(property, type: "i", value: &number) ? number : nil
  }

  /// Microseconds since 1970; nil if it has not happened.
  func time(_ property: String) -> UInt64? {
    var time: UInt64 = 0
    return get(property, type: "t", value: &time) && time > 0 ? time : nil
  }

  private func get(_ property: String, type: String, value: UnsafeMutableRawPointer) -> Bool {
    guard let type = type.utf8.first.map({ CChar(bitPattern: $0) }) else { return false }
    return sd_bus_get_property_trivial(
      bus, Self.name, path, Interface.service.rawValue, property, nil, type, value) >= 0
  }

  private static let name = "org.freedesktop.systemd1"
  /// The limit of one call, in microseconds. It is short because a person waits for the explanation.
  private static let patience: UInt64 = 2_000_000
}
