#pragma once
/* An answer on its way: its headers, its line in the log, the deadline within which it must be
 * read. Threads: the HTTP thread of the connection. */
#include "api/request.h"

/* Hands the answer of the request, which has one, to libmicrohttpd; the request is REQ_ANSWERED
 * then. What is returned is what libmicrohttpd's callback must return: MHD_NO when there is no
 * memory, and it closes. */
enum MHD_Result sending_start(struct req *req);
