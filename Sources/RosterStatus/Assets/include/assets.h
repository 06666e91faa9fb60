// The files of the page, embedded in the program's read-only data.
#include <stddef.h>

typedef struct {
  const unsigned char *bytes;
  size_t count;
} Asset;

Asset asset_page_html(void);
Asset asset_page_css(void);
Asset asset_page_js(void);
Asset asset_page_svg(void);
