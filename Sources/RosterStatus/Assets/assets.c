// #embed (C23 6.10.4): the compiler notices a changed file, and there is no generated copy that could differ.
#include "assets.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char html[] = {
#embed "page.html"
};
static const unsigned char css[] = {
#embed "page.css"
};
static const unsigned char js[] = {
#embed "page.js"
};
static const unsigned char svg[] = {
#embed "page.svg"
};
static const unsigned char openapi[] = {
#embed "openapi.json"
};

Asset asset_page_html(void) { return (Asset){html, sizeof html}; }
Asset asset_page_css(void) { return (Asset){css, sizeof css}; }
Asset asset_page_js(void) { return (Asset){js, sizeof js}; }
Asset asset_page_svg(void) { return (Asset){svg, sizeof svg}; }
Asset asset_openapi_json(void) { return (Asset){openapi, sizeof openapi}; }
