#pragma once
/* Files of this folder as texts in the program; made at build time by server/embed.py. */

extern const char embedded_openapi[];
