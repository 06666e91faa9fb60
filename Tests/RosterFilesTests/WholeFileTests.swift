import FoundationEssentials
import Glibc
import RosterTestSupport
import Testing

@testable import RosterCore

@Suite struct WholeFileTests {
  let workspace = Workspace()

  @Test("A file replaces another one of its name, with its mode, and contains nothing that a crash left")
  func replaced() throws {
    let path = try workspace.write("old, and longer", to: "file")
    let old = Inode(path)
    try workspace.write("half", to: "file.new")
    try WholeFile(path, mode: 0o640).replace(with: Array("new".utf8))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
    #expect(Inode(path) != nil && Inode(path) != old)
    var found = stat()
    #expect(stat(path, &found) == 0 && found.st_mode & 0o7777 == 0o640)
    #expect(Inode("\(path).new") == nil)
  }

  @Test("The replacement of a user's file leaves another file of the user alone")
  func usersFile() throws {
    let path = try workspace.write("old", to: "file")
    let other = try workspace.write("other", to: "file.new")
    try WholeFile(path, mode: 0o640, isUsers: true).replace(with: Array("new".utf8))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "new")
    #expect(try String(contentsOfFile: other, encoding: .utf8) == "other")
    #expect(try FileManager.default.contentsOfDirectory(atPath: workspace.folder).sorted() == ["file", "file.new"])
  }

  @Test("If a file cannot be replaced, the old one stays, the error names the step, and no other file remains")
  func refused() throws {
    let path = try workspace.write("old", to: "folder")
    unlink(path)
    try #require(mkdir(path, 0o700) == 0)
    #expect(throws: FileError(step: "replace", path: path, error: SystemError(code: EISDIR))) {
      try WholeFile(path, mode: 0o600).replace(with: [])
    }
    #expect(Inode("\(path).new") == nil)
    let nowhere = workspace.path("nowhere/file")
    let missing = FileError(step: "create", path: "\(nowhere).new", error: SystemError(code: ENOENT))
    #expect("\(missing)" == "cannot create \(nowhere).new: No such file or directory")
    #expect(throws: missing) {
      try WholeFile(nowhere, mode: 0o600).replace(with: [])
    }
  }

  @Test("The check for a replacement leaves the file and no other one, and names what would fail")
  func replaceable() throws {
    let path = try workspace.write("old", to: "file")
    try workspace.write("half", to: "file.new")
    try workspace.write("half", to: "file.probe")
    let file = WholeFile(path, mode: 0o600)
    try file.expectReplaceable(with: Array("new".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: workspace.folder) == ["file"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
    try #require(mkdir("\(path).new", 0o700) == 0)
    #expect(throws: FileError(step: "remove", path: "\(path).new", error: SystemError(code: EISDIR))) {
      try file.expectReplaceable(with: [])
    }
    let nowhere = workspace.path("nowhere/file")
    #expect(throws: FileError(step: "create", path: "\(nowhere).probe", error: SystemError(code: ENOENT))) {
      try WholeFile(nowhere, mode: 0o600).expectReplaceable(with: [])
    }
  }

  @Test(
    "The folder of a path is the part before its last slash",
    arguments: [("/a/b", "/a"), ("/a", "/"), ("a/b", "a"), ("a", "."), ("/a/b/", "/a/b")])
  func parent(path: String, folder: String) {
    #expect(parentFolder(of: path) == folder)
  }
}
