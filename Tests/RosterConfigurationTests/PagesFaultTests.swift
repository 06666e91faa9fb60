import RosterTestSupport
import Testing

@testable import RosterDefinition

@Suite("Definitions: faults of pages")
struct PagesFaultTests {
  let workspace = Workspace()

  @Test(
    "53: faults of the keys of pages, from line 7 on",
    arguments: faultTable(
      #"""
      style = "pages"
      => 7: resource.thing.pages.style: "pages" is unknown; allowed: number offset cursor next link after one record
      size = 0
      => 7: resource.thing.pages.size: 0 is out of range; allowed: 1 to 2000000000
      size = -1
      => 7: resource.thing.pages.size: -1 is out of range; allowed: 1 to 2000000000
      size = "10"
      => 7: resource.thing.pages.size: "10" is a string, not an integer; allowed: 1 to 2000000000
      first = -1
      => 7: resource.thing.pages.first: -1 is out of range; allowed: 0 to 2000000000
      beyond = [200]
      => 7: resource.thing.pages.beyond: 200 is out of range; allowed: integers from 400 to 599
      beyond = [204]
      => 7: resource.thing.pages.beyond: 204 needs no entry, because it means the end of the list in any case; allowed: integers from 400 to 599
      beyond = ["404"]
      => 7: resource.thing.pages.beyond: "404" is a string, not an integer; allowed: integers from 400 to 599
      beyond = 404
      => 7: resource.thing.pages.beyond: 404 is an integer, not a list of integers; allowed: integers from 400 to 599
      short = true
      => 7: resource.thing.pages.short: needs size; allowed: short with size
      short = 1
      => 7: resource.thing.pages.short: 1 is an integer, not a boolean; allowed: true or false
      omits_false = true
      => 7: resource.thing.pages.omits_false: needs more or done; allowed: omits_false with more or done
      empty = "no"
      => 7: resource.thing.pages.empty: "no" is unknown; allowed: no_sign end
      param = "header:X Page"
      => 7: resource.thing.pages.param: "header:X Page" is no place in a request; allowed: the name of a query parameter, or a place in body: a JSON Pointer such as "/page", or "header:NAME"
      more = "has_more"
      => 7: resource.thing.pages.more: "has_more" is no place in an answer; allowed: a JSON Pointer such as "/info/count", or "header:NAME"
      last = "header:"
      => 7: resource.thing.pages.last: "header:" is no place in an answer; allowed: a JSON Pointer such as "/info/count", or "header:NAME"
      last = "header:X Y"
      => 7: resource.thing.pages.last: "header:X Y" is no place in an answer; allowed: a JSON Pointer such as "/info/count", or "header:NAME"
      count = 5
      => 7: resource.thing.pages.count: 5 is an integer, not a string; allowed: a JSON Pointer such as "/info/count", or "header:NAME"
      at = "/next"
      => 7: resource.thing.pages.at: the style "number" does not use it; allowed: style, param, value, first, size, size_param, more, done, last, count, short, beyond, empty, omits_false, hidden
      start = "a"
      => 7: resource.thing.pages.start: the style "number" does not use it; allowed: style, param, value, first, size, size_param, more, done, last, count, short, beyond, empty, omits_false, hidden
      limit = 5
      => 7: resource.thing.pages.limit: is unknown; allowed: style, param, value, first, start, size, size_param, at, more, done, last, count, short, beyond, empty, omits_false, hidden
      limit = ""
      => 7: resource.thing.pages.limit: is unknown; allowed: style, param, value, first, start, size, size_param, at, more, done, last, count, short, beyond, empty, omits_false, hidden
      param = "/p~"
      => 7: resource.thing.pages.param: "/p~" is no place in a request; allowed: the name of a query parameter, or a place in body: a JSON Pointer such as "/page", or "header:NAME"
      param = "/page"
      => 7: resource.thing.pages.param: "/page" is a place in the body of a POST; allowed: the name of a query parameter, or the method POST
      size = 5
      param = "n"
      size_param = "n"
      => 9: resource.thing.pages.size_param: "n" is param too; allowed: a parameter of its own
      size = 5
      size_param = "page"
      => 8: resource.thing.pages.size_param: "page" is param too; allowed: a parameter of its own
      size = 5
      param = "/p~"
      size_param = "page"
      => 8: resource.thing.pages.param: "/p~" is no place in a request; allowed: the name of a query parameter, or a place in body: a JSON Pointer such as "/page", or "header:NAME"
      style = "offset"
      => 6: resource.thing.pages.param: the style "offset" needs it; allowed: the name of a query parameter, or a place in body
      style = "offset"
      param = "o"
      last = "/l"
      => 9: resource.thing.pages.last: the style "offset" does not use it; allowed: style, param, value, first, size, size_param, more, done, count, short, beyond, empty, omits_false, hidden
      style = "cursor"
      param = "c"
      => 6: resource.thing.pages.at: the style "cursor" needs it; allowed: a JSON Pointer such as "/next", or "header:NAME"
      style = "cursor"
      at = "/c"
      => 6: resource.thing.pages.param: the style "cursor" needs it; allowed: the name of a query parameter, or a place in body
      style = "cursor"
      param = "c"
      at = "/c"
      first = 1
      => 10: resource.thing.pages.first: the style "cursor" does not use it; allowed: style, param, value, start, size, size_param, at, more, done, count, short, beyond, empty, omits_false, hidden
      value = "(page:{offset})"
      => 7: resource.thing.pages.value: does not contain {page} once; allowed: a text with the placeholder once
      value = "{page}{page}"
      => 7: resource.thing.pages.value: does not contain {page} once; allowed: a text with the placeholder once
      style = "link"
      value = "{page}"
      => 8: resource.thing.pages.value: the style "link" does not use it; allowed: style, size, size_param, more, done, count, short, beyond, empty, omits_false, hidden
      style = "cursor"
      param = "*"
      at = "/c"
      value = "{cursor}"
      => 10: resource.thing.pages.value: is beside param = "*"; allowed: value or param = "*"
      more = "/m"
      done = "/d"
      => 8: resource.thing.pages.done: is beside more; allowed: done or more
      param = "*"
      => 7: resource.thing.pages.param: "*" is for the style "cursor"; allowed: the name of a query parameter, or a place in body
      style = "after"
      param = "*"
      => 8: resource.thing.pages.param: "*" is for the style "cursor"; allowed: the name of a query parameter, or a place in body
      style = "cursor"
      param = "*"
      at = "/c"
      start = "x"
      => 10: resource.thing.pages.start: is beside param = "*"; allowed: start or param = "*"
      style = "cursor"
      param = "*"
      at = "header:X"
      => 9: resource.thing.pages.at: is no object, which param = "*" needs; allowed: a JSON Pointer to an object
      size = 5
      size_param = "*"
      => 8: resource.thing.pages.size_param: "*" is for param; allowed: the name of a query parameter, or a place in body
      style = "next"
      => 6: resource.thing.pages.at: the style "next" needs it; allowed: a JSON Pointer such as "/next", or "header:NAME"
      style = "next"
      at = "/n"
      param = "p"
      => 9: resource.thing.pages.param: the style "next" does not use it; allowed: style, size, size_param, at, more, done, count, short, beyond, empty, omits_false, hidden
      style = "link"
      at = "/n"
      => 8: resource.thing.pages.at: the style "link" does not use it; allowed: style, size, size_param, more, done, count, short, beyond, empty, omits_false, hidden
      style = "after"
      => 6: resource.thing.pages.param: the style "after" needs it; allowed: the name of a query parameter, or a place in body
      style = "after"
      param = "a"
      at = "header:X"
      => 9: resource.thing.pages.at: is no place in the last record; allowed: a JSON Pointer into a record
      style = "after"
      param = "a"
      start = "x"
      => 9: resource.thing.pages.start: the style "after" does not use it; allowed: style, param, value, size, size_param, at, more, done, count, short, beyond, empty, omits_false, hidden
      style = "record"
      short = true
      => 8: resource.thing.pages.short: the style "record" does not use it; allowed: style
      style = "record"
      value = "{page}"
      => 8: resource.thing.pages.value: the style "record" does not use it; allowed: style
      style = "one"
      param = "p"
      => 8: resource.thing.pages.param: the style "one" does not use it; allowed: style, size, size_param, more, done, count, short, beyond, empty, omits_false, hidden
      """#))
  func pages(text: String, sentence: String) throws {
    try workspace.expect(
      sentence, text: FaultyDefinition.start + FaultyDefinition.columns + "[resource.thing.pages]\n" + text)
  }
}
