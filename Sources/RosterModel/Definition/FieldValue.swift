/// The value of one column: of a field in an answer, or of a row of the cache.
///
/// Its bytes are not copied. Those of a field are a slice of the body, or of the decoder's memory if the body has
/// escapes or white space in them. They are valid until the decoder's next call of `next`, of `nextRow` (for values of
/// a list's row) or of `begin`. Those of a row are valid until its statement goes on.
package enum FieldValue {
  case null
  /// UTF-8 as upstream sent it, which may contain U+0000 and surrogates.
  case text(UnsafeBufferPointer<UInt8>)
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  /// A value of any kind as upstream wrote it, without white space between its tokens.
  case json(UnsafeBufferPointer<UInt8>)
}
