#pragma once
/* Every limit on what comes from outside, with its reason. */

#define LIMIT_BODY_BYTES (1 << 20) /* api.md: bodies over 1 MiB are refused with 413 */
#define LIMIT_TARGET_BYTES                                                                         \
    8192                       /* a list with every filter is below 2 kB; proxies cut at 8 kB too */
#define LIMIT_HEAD_BYTES 16384 /* request line and headers; a client of ours sends below 1 kB */
#define LIMIT_HEAD_LINES 100   /* headers; browsers send about twenty */
#define LIMIT_JSON_DEPTH 32    /* api.md: nesting over 32 is refused */
#define LIMIT_JSON_TOKENS 20000  /* lists of databases may be long; a megabyte of "[" may not */
#define LIMIT_JSON_FAULTS 100    /* people mend a handful at a time */
#define LIMIT_NAME_CHARS 64      /* api.md: instance and webhook names */
#define LIMIT_SQL_NAME_UTF16 128 /* sysname is nvarchar(128) */
#define LIMIT_PATHS 100          /* allow.paths: more is no list a DBA keeps right */
#define LIMIT_PATH_UTF16 259     /* msdb keeps device names in nvarchar(260) */
#define LIMIT_ARMS 256        /* domain.md report 30: full cross products run "a very long time" */
#define LIMIT_TRIALS 10000    /* 256 arms x 39 rounds; more is a mistake */
#define LIMIT_REPETITIONS 100 /* api.md */
#define LIMIT_STRIPES 64      /* BACKUP takes up to 64 devices (domain.md 1.1) */
#define LIMIT_LABELS 32       /* labels are for filters, not for storage */
#define LIMIT_LABEL_CHARS 200
#define LIMIT_LABEL_KEY_CHARS 64
#define LIMIT_NOTIFY 16               /* webhooks a job may name */
#define LIMIT_WAIT_S 300              /* api.md: Prefer: wait and verdict?wait= */
#define LIMIT_PAGE 500                /* api.md: limit= of lists */
#define LIMIT_IDEMPOTENCY_DAYS 7      /* api.md: keys live 7 days */
#define LIMIT_EVENT_DAYS 7            /* who was away longer reads the jobs anew */
#define LIMIT_STREAMS 2000            /* each costs memory and a thread's turn; see api/holding.h */
#define LIMIT_ANSWER_BYTES (64 << 10) /* what is read of a webhook receiver's answer */
#define LIMIT_URL_BYTES 2048          /* webhooks of chat services stay below 500 */
#define LIMIT_HEADERS_OUT 32          /* we set a handful */
#define LIMIT_HEADERS_IN 200          /* lines of an answer; more is an attack */
#define LIMIT_SECRET_BYTES (64 << 10) /* a password or a URL; more is the wrong file */
#define LIMIT_KEYS 8                  /* in the key file: `key forget` is due long before */
#define LIMIT_QUERY_S 30              /* silence after which a short query is given up */
#define LIMIT_STREAM_S 600  /* and one that reads a whole history (msdb has few indexes) */
#define LIMIT_TEARDOWN_S 60 /* silence of a job's own teardown, which nothing else ends */
#define LIMIT_CANCEL_S 30   /* a BACKUP that is cancelled first ends the I/O it began */
/* After a cancel that was not answered, where other sessions are not to be seen: by then a server
 * has noticed that the connection is gone (its keep-alive takes under a minute) and has rolled
 * back. */
#define LIMIT_GIVEN_UP_S 600
#define LIMIT_LOGIN_S 15      /* a login that takes longer is "unreachable" */
#define LIMIT_RETRY_S 300     /* an instance that is away is asked at least so often */
#define LIMIT_CHECK_S 15      /* a person waits for it, and so do proxies */
#define LIMIT_SNAPSHOT_S 1800 /* of a trial: they slow all writes, block restores */

#define LIMIT_EVIDENCE_BYTES (256 << 20) /* LIMIT_TRIALS with 64 waits and 100 files each */
#define LIMIT_EVIDENCE_TOKENS 8000000    /* the same */
