import Glibc

/// Gives a file that root has created to the owner and group of its folder (P14.1), because the service could not write
/// it otherwise. Does nothing for other users, or if the file system or a container refuses.
package func giveToFolderOwner(_ descriptor: CInt, at path: String) {
  var found = stat()
  guard fstat(descriptor, &found) == 0, let owner = newOwner(of: found, at: path) else { return }
  _ = fchown(descriptor, owner.user, owner.group)
}

/// Does the same for a folder or a socket.
package func giveToFolderOwner(_ path: String) {
  var found = stat()
  guard lstat(path, &found) == 0, [S_IFDIR, S_IFSOCK].contains(found.st_mode & S_IFMT),
    let owner = newOwner(of: found, at: path)
  else { return }
  _ = lchown(path, owner.user, owner.group)
}

/// nil if the file keeps its owner and group.
private func newOwner(of file: stat, at path: String) -> (user: uid_t, group: gid_t)? {
  guard geteuid() == 0, file.st_uid == 0, let folder = fileStatus(parentFolder(of: path)) else { return nil }
  guard folder.st_uid != file.st_uid || folder.st_gid != file.st_gid else { return nil }
  // A file with a second hard link may be one of root's own files that the folder's owner has linked here.
  guard file.st_mode & S_IFMT == S_IFDIR || file.st_nlink == 1 else { return nil }
  return (folder.st_uid, folder.st_gid)
}
