// The files of the page and the OpenAPI document, embedded in the program's read-only data.
#include <stddef.h>

typedef struct {
  const unsigned char *bytes;
  size_t count;
} Asset;

Asset asset_page_html(void);
Asset asset_page_css(void);
Asset asset_page_js(void);
Asset asset_page_svg(void);
Asset asset_openapi_json(void);
