#pragma once
/* The files of schema/agent as texts in the client; made at build time by server/embed.py. */

extern const char embedded_agent_job[];
extern const char embedded_agent_step[];
extern const char embedded_agent_curl_submit[];
extern const char embedded_agent_curl_verdict[];
extern const char embedded_agent_powershell[];
extern const char embedded_agent_rest[];
