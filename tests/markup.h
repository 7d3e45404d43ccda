#pragma once
/* A strict reader of the pages we write: they must be well formed as XML, and hold only the
 * elements and attributes that a report needs. */

/* Fails the test, naming the place, when a tag is not closed or closed by another one, a value has
 * no quotes, an entity is none of XML's, a byte is no UTF-8 or a character no XML, an element or
 * attribute is none of the page's (no script, link, image, form, style attribute, handler), or a
 * number came out as nan, inf or null in the text. */
void markup_check(const char *page);
