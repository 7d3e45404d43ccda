#pragma once
/* Every handler of the table in route.c, by resource. Each answers the request or holds it. */

struct req;

/* metrics.c */
void metrics_get(struct req *req);

/* health.c, openapi.c */
void livez_get(struct req *req);
void readyz_get(struct req *req);
void openapi_get(struct req *req);

/* instances.c */
void instance_put(struct req *req);
void instance_get(struct req *req);
void instance_list(struct req *req);
void instance_delete(struct req *req);

/* check.c */
void instance_check(struct req *req);

/* audit.c */
void audit_list(struct req *req);

/* reconcile.c */
void instance_reconcile(struct req *req);

/* jobs.c, job_list.c */
void job_post(struct req *req);
void job_get(struct req *req);
void job_cancel(struct req *req);
void job_list(struct req *req);

/* verdict.c, retries.c */
void verdict_get(struct req *req);
void verdict_by_key_get(struct req *req);
void job_retry(struct req *req);

/* streams.c */
void event_stream(struct req *req);
void job_event_stream(struct req *req);

/* kinds.c, mode.c */
void kind_list(struct req *req);
void mode_get(struct req *req);
void mode_post(struct req *req);

/* plans.c */
void plan_post(struct req *req);

/* trials.c, reports.c, evidence.c */
void trial_list(struct req *req);
void report_get(struct req *req);
void evidence_get(struct req *req);

/* trends.c */
void trend_get(struct req *req);
void compare_get(struct req *req);

/* webhooks.c, deliveries.c */
void webhook_put(struct req *req);
void webhook_get(struct req *req);
void webhook_list(struct req *req);
void webhook_delete(struct req *req);
void webhook_test(struct req *req);
void delivery_list(struct req *req);
void delivery_redeliver(struct req *req);
