/* The settings in words: --help and the sample file. */
#include "server/buf.h"
#include "server/config.h"

#include <stdio.h>

char *config_help(void)
{
    struct buf out = {0};
    struct config_setting setting;
    buf_add(&out,
            "Usage: sweetspotd [--config FILE] [--NAME VALUE ...]\n"
            "       sweetspotd token create --name N --scope read|submit|admin\n"
            "       sweetspotd token list | token revoke NAME\n"
            "       sweetspotd key rotate | key list | key forget | key replace\n"
            "       sweetspotd --help | --version\n\n"
            "Benchmarks backup settings of SQL Server; serves an HTTP API for it.\n\n"
            "Settings (a flag wins over SWEETSPOT_NAME in the environment, that over\n"
            "name = value in FILE, by default /etc/sweetspot/sweetspot.conf when it exists):\n\n");
    for (size_t i = 0; config_setting(i, &setting); i++) {
        char flag[64];
        (void)snprintf(flag, sizeof flag, "--%s", setting.name);
        for (char *at = flag; *at; at++) {
            if (*at == '_')
                *at = '-';
        }
        buf_format(&out, "  %s\n      %s\n", flag, setting.help);
        if (setting.fallback[0])
            buf_format(&out, "      default: %s\n", setting.fallback);
    }
    return buf_take(&out);
}

char *config_sample(void)
{
    struct buf out = {0};
    struct config_setting setting;
    buf_add(&out,
            "# Settings of sweetspotd: name = value. A line that begins with # says nothing;\n"
            "# those below show the defaults. Read once, at the start; only what the files of keys "
            "and\n"
            "# certificates hold is read again on SIGHUP.\n");
    for (size_t i = 0; config_setting(i, &setting); i++)
        buf_format(&out, "\n# %s\n#%s = %s\n", setting.help, setting.name, setting.fallback);
    return buf_take(&out);
}
