#pragma once
/* What libmicrohttpd answers by itself, before any handler of ours: a request line, a length or a
 * chunk that it cannot read, a head that is too large. It says so as HTML, and of versions of HTTP
 * that it does not know with 505, as if the fault were ours. It hands these answers on as we do,
 * through MHD_queue_response, whose name in this program is ours: so they become problems like all
 * others. Threads: the HTTP thread of the connection. */
#include <microhttpd.h>

/* What libmicrohttpd's own MHD_queue_response does: for answers of ours. */
enum MHD_Result own_answers_queue(struct MHD_Connection *connection, unsigned status,
                                  struct MHD_Response *response);
