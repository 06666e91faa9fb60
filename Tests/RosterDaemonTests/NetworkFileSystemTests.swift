import RosterTestSupport
import Testing

@testable import RosterDaemon

@Suite struct NetworkFileSystemTests {
  /// The format of proc_pid_mountinfo(5), with a varying number of optional fields.
  private static let mounts = """
    22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
    31 22 0:45 / /srv/roster rw shared:9 master:2 - nfs4 box:/roster rw,vers=4.2
    32 22 0:46 / /mnt/a\\040b rw - cifs //box/roster rw
    33 22 0:47 / /mnt/fuse rw - fuse.sshfs box: rw
    34 22 0:48 / /tmp rw - tmpfs tmpfs rw
    """

  @Test("A network file system of a device is recognised by its type")
  func types() {
    func type(_ device: String) -> String? { NetworkFileSystem.type(ofDevice: device, in: Self.mounts) }
    #expect(type("8:1") == nil)
    #expect(type("0:45") == "nfs4")
    #expect(type("0:46") == "cifs")
    #expect(type("0:47") == "fuse.sshfs")
    #expect(type("0:48") == nil)
    #expect(type("9:9") == nil)
    #expect(NetworkFileSystem.type(ofDevice: "8:1", in: "cut 22 8:1 - \n\n") == nil)
  }

  @Test(
    "File systems on which SQLite's WAL cannot be shared",
    arguments: ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.s3fs", "ceph", "virtiofs", "glusterfs", "afs"])
  func network(type: String) {
    #expect(NetworkFileSystem.isNetwork(type))
  }

  @Test("Disks of this machine", arguments: ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuseblk", "vfat"])
  func local(type: String) {
    #expect(!NetworkFileSystem.isNetwork(type))
  }

  @Test("This machine's own mount table can be read")
  func own() throws {
    let workspace = Workspace()
    #expect(NetworkFileSystem.type(of: workspace.path("roster.db")) == nil)
    #expect(NetworkFileSystem.type(of: "/proc/self/mountinfo") == nil)
  }
}
