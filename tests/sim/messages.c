/* messages.c: the numbers with their severities and texts, in four languages where clients see
 * them during a backup, and the languages themselves. Placeholders are SQL Server's: they take the
 * arguments in order, %2! takes the second. */
#include <stdlib.h>
#include <string.h>

#include "session.h"

/* clang-format off */
static const struct sim_message messages[] = {
    {102, 15, {"Incorrect syntax near '%.*ls'.", "Sintaxis incorrecta cerca de '%.*ls'.", "Falsche Syntax in der Nähe von '%.*ls'.", "'%.*ls' 付近に不適切な構文があります。"}},
    {103, 15, {"The identifier that starts with '%.*ls' is too long. Maximum length is 128."}},
    {105, 15, {"Unclosed quotation mark after the character string '%.*ls'."}},
    {113, 15, {"Missing end comment mark '*/'."}},
    {117, 15, {"The object name contains more than the maximum number of prefixes. The maximum is 3."}},
    {134, 15, {"The variable name '%.*ls' has already been declared. Variable names must be unique within a query batch or stored procedure."}},
    {137, 15, {"Must declare the scalar variable \"%.*ls\".", "Debe declarar la variable escalar \"%.*ls\".", "Die Skalarvariable \"%.*ls\" muss deklariert werden."}},
    {141, 15, {"A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations."}},
    {155, 15, {"'%.*ls' is not a recognized %ls option."}},
    {156, 15, {"Incorrect syntax near the keyword '%.*ls'.", "Sintaxis incorrecta cerca de la palabra clave '%.*ls'.", "Falsche Syntax in der Nähe des '%.*ls'-Schlüsselworts."}},
    {174, 15, {"The %.*ls function requires %ls argument(s)."}},
    {191, 15, {"Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries."}},
    {195, 15, {"'%.*ls' is not a recognized %ls."}},
    {201, 16, {"Procedure or function '%.*ls' expects parameter '%.*ls', which was not supplied."}},
    {207, 16, {"Invalid column name '%.*ls'.", "El nombre de columna '%.*ls' no es válido.", "Ungültiger Spaltenname '%.*ls'.", "列名 '%.*ls' が無効です。"}},
    {208, 16, {"Invalid object name '%.*ls'.", "El nombre de objeto '%.*ls' no es válido.", "Ungültiger Objektname '%.*ls'.", "オブジェクト名 '%.*ls' が無効です。"}},
    {209, 16, {"Ambiguous column name '%.*ls'."}},
    {213, 16, {"Column name or number of supplied values does not match table definition."}},
    {214, 16, {"Procedure expects parameter '%ls' of type '%ls'."}},
    {220, 16, {"Arithmetic overflow error for data type %ls, value = %ld."}},
    {229, 14, {"The %ls permission was denied on the object '%.*ls', database '%.*ls', schema '%.*ls'."}},
    {232, 16, {"Arithmetic overflow error for type %ls."}},
    {235, 16, {"Cannot convert a char value to money. The char value has incorrect syntax."}},
    {241, 16, {"Conversion failed when converting date and/or time from character string."}},
    {242, 16, {"The conversion of a %ls data type to a datetime data type resulted in an out-of-range value."}},
    {243, 16, {"Type %.*ls is not a defined system type."}},
    {244, 16, {"The conversion of the %ls value '%.*ls' overflowed an INT1 or INT2 column."}},
    {245, 16, {"Conversion failed when converting the %ls value '%.*ls' to data type %ls."}},
    {248, 16, {"The conversion of the %ls value '%.*ls' overflowed an int column."}},
    {262, 14, {"%ls permission denied in database '%.*ls'.", "Permiso de %ls denegado en la base de datos '%.*ls'.", "Die %ls-Berechtigung wurde in der '%.*ls'-Datenbank verweigert."}},
    {297, 16, {"The user does not have permission to perform this action.", "El usuario no tiene permiso para realizar esta acción.", "Der Benutzer verfügt nicht über die Berechtigung zum Ausführen dieser Aktion."}},
    {300, 14, {"%ls permission was denied on object '%.*ls', database '%.*ls'."}},
    {402, 16, {"The data types %s and %s are incompatible in the %s operator."}},
    {505, 16, {"Division by zero occurred while the row count was computed."}},
    {512, 16, {"Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= or when the subquery is used as an expression."}},
    {515, 16, {"Cannot insert the value NULL into column '%.*ls', table '%.*ls'; column does not allow nulls. %ls fails."}},
    {517, 16, {"Adding a value to a '%ls' column caused an overflow."}},
    {529, 16, {"Explicit conversion from data type %ls to %ls is not allowed."}},
    {567, 16, {"File '%.*ls' either does not exist or is not a trace file that can be read."}},
    {701, 17, {"There is insufficient system memory in resource pool '%ls' to run this query.", "Memoria del sistema insuficiente en el grupo de recursos '%ls' para ejecutar esta consulta.", "Es ist nicht genügend Arbeitsspeicher im Ressourcenpool '%ls' vorhanden, um diese Abfrage auszuführen."}},
    {911, 16, {"Database '%.*ls' does not exist. Make sure that the name is entered correctly.", "La base de datos '%.*ls' no existe. Asegúrese de que ha escrito el nombre correctamente.", "Die Datenbank '%.*ls' ist nicht vorhanden. Stellen Sie sicher, dass Sie den Namen richtig eingegeben haben."}},
    {916, 14, {"The server principal \"%.*ls\" is not able to access the database \"%.*ls\" under the current security context."}},
    {922, 14, {"Database '%.*ls' is being recovered. Waiting until recovery is finished."}},
    {923, 14, {"Database '%.*ls' is in restricted mode; only its owner and members of dbcreator and sysadmin get in."}},
    {924, 14, {"Database '%.*ls' is already open and can only have one user at a time."}},
    {926, 14, {"Database '%.*ls' cannot be opened. It has been marked SUSPECT by recovery."}},
    {927, 14, {"Database '%.*ls' cannot be opened. It is in the middle of a restore."}},
    {942, 14, {"Database '%.*ls' cannot be opened because it is offline."}},
    {945, 14, {"Database '%.*ls' cannot be opened due to inaccessible files or insufficient memory or disk space."}},
    {952, 16, {"Database '%.*ls' is in transition. Try the statement later."}},
    {954, 14, {"The database \"%.*ls\" cannot be opened. It is acting as a mirror database."}},
    {976, 14, {"The target database, '%.*ls', is participating in an availability group and is currently not accessible for queries."}},
    {978, 14, {"The target database ('%.*ls') is in an availability group and is accessible only to connections with read-only application intent."}},
    {983, 14, {"Unable to access availability database '%.*ls' because its replica is neither PRIMARY nor SECONDARY."}},
    {1007, 15, {"The number '%.*ls' is out of the range for numeric representation (maximum precision 38)."}},
    {1202, 16, {"The database-principal '%.*ls' does not exist or user is not a member."}},
    {1223, 16, {"Cannot release the application lock (Database Principal: '%.*ls', Resource: '%.*ls') because it is not currently held."}},
    {1224, 16, {"An invalid application lock resource was passed to %ls."}},
    {1227, 16, {"An invalid application lock time-out was passed to %ls."}},
    {1230, 16, {"An invalid database principal was passed to %ls."}},
    {1801, 16, {"Database '%.*ls' already exists. Choose a different database name."}},
    {1822, 16, {"The database must be online to have a database snapshot."}},
    {1823, 16, {"A database snapshot cannot be created because it failed to start."}},
    {1830, 16, {"The database '%.*ls' is a system database; a database snapshot of it is not possible."}},
    {1844, 16, {"%ls is not supported on %ls.", "%ls no es compatible con %ls.", "%ls wird auf %ls nicht unterstützt."}},
    {2571, 14, {"User '%.*ls' does not have permission to run DBCC %.*ls."}},
    {2528, 10, {"DBCC execution completed. If DBCC printed error messages, contact your system administrator.", "Ejecución de DBCC completada. Si hay mensajes de error, consulte al administrador del sistema.", "Die DBCC-Ausführung wurde abgeschlossen. Falls DBCC Fehlermeldungen ausgegeben hat, wenden Sie sich an den Systemadministrator.", "DBCC の実行が完了しました。DBCC がエラー メッセージを出力した場合は、システム管理者に相談してください。"}},
    {2526, 16, {"Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options."}},
    {2627, 14, {"Violation of PRIMARY KEY constraint. Cannot insert duplicate key in object '%.*ls'. The duplicate key value is (%ls)."}},
    {2628, 16, {"String or binary data would be truncated in table '%.*ls', column '%.*ls'. Truncated value: '%.*ls'."}},
    {2714, 16, {"There is already an object named '%.*ls' in the database."}},
    {2715, 16, {"Column, parameter, or variable: Cannot find data type %.*ls."}},
    {2812, 16, {"Could not find stored procedure '%.*ls'.", "No se encontró el procedimiento almacenado '%.*ls'.", "Die gespeicherte Prozedur '%.*ls' wurde nicht gefunden.", "ストアド プロシージャ '%.*ls' が見つかりませんでした。"}},
    {3002, 16, {"Cannot BACKUP or RESTORE a database snapshot."}},
    {3004, 16, {"The primary filegroup cannot be backed up as a file backup because the database is using the SIMPLE recovery model."}},
    {3009, 16, {"Could not insert a backup or restore history/detail record in the msdb database."}},
    {3011, 16, {"All backup devices must be of the same general class (for example, DISK and TAPE)."}},
    {3013, 16, {"%hs is terminating abnormally.", "Fin anómalo de %hs.", "%hs wird fehlerbedingt beendet.", "%hs が異常終了しています。"}},
    {3014, 10, {"%hs successfully processed %I64d pages in %d.%03d seconds (%d.%03d MB/sec).", "%hs procesó correctamente %I64d páginas en %d.%03d segundos (%d.%03d MB/s).", "%hs hat erfolgreich %I64d Seiten in %d.%03d Sekunden verarbeitet (%d.%03d MB/s).", "%hs により %I64d ページが %d.%03d 秒間で正常に処理されました (%d.%03d MB/秒)。"}},
    {3021, 16, {"Cannot perform a backup or restore operation within a transaction.", "No se puede realizar una operación de copia de seguridad o restauración en una transacción.", "Innerhalb einer Transaktion können keine Sicherungs- oder Wiederherstellungsvorgänge ausgeführt werden.", "トランザクション内でバックアップ操作または復元操作を実行することはできません。"}},
    {3023, 16, {"Backup, file manipulation operations (such as ALTER DATABASE ADD FILE) and encryption changes on a database must be serialized. Reissue the statement after the current backup or file manipulation operation is completed."}},
    {3024, 16, {"You can only perform a full backup of the master database. Use BACKUP DATABASE to back up the entire master database."}},
    {3031, 16, {"Option '%ls' conflicts with option(s) '%ls'. Remove the conflicting option and reissue the statement."}},
    {3032, 16, {"One or more of the options (%ls) are not supported for this statement. Review the documentation for supported options."}},
    {3035, 16, {"Cannot perform a differential backup for database \"%ls\", because a current database backup does not exist. Perform a full database backup by reissuing BACKUP DATABASE, omitting the WITH DIFFERENTIAL option."}},
    {3036, 16, {"The database \"%ls\" is in warm-standby state (set by executing RESTORE WITH STANDBY) and cannot be backed up until the entire restore sequence is completed."}},
    {3041, 16, {"BACKUP failed to complete the command %.*ls. Check the backup application log for detailed messages."}},
    {3044, 16, {"Invalid zero-length device name. Reissue the BACKUP statement with a valid device name."}},
    {3059, 16, {"This BACKUP or RESTORE command is not supported on a database mirror or secondary replica."}},
    {3098, 16, {"The backup cannot be performed because '%ls' was requested after the media was formatted with an incompatible structure. To append to this media set, either omit '%ls' or specify '%ls'."}},
    {3101, 16, {"Exclusive access could not be obtained because the database is in use."}},
    {3102, 16, {"%hs cannot process database '%ls' because it is in use by this session."}},
    {3110, 14, {"User does not have permission to RESTORE database '%.*ls'."}},
    {3119, 16, {"Problems were identified while planning for the RESTORE statement. Previous messages provide details."}},
    {3132, 16, {"The media set has %d media families but only %d are provided. All members must be provided."}},
    {3147, 16, {"Backup and restore operations are not allowed on database tempdb.", "No se permiten operaciones de copia de seguridad ni restauración en la base de datos tempdb.", "Sicherungs- und Wiederherstellungsvorgänge sind für die Datenbank tempdb nicht zulässig."}},
    {3201, 16, {"Cannot open backup device '%ls'. Operating system error %ls.", "No se puede abrir el dispositivo de copia de seguridad '%ls'. Error del sistema operativo %ls.", "Das Sicherungsmedium '%ls' kann nicht geöffnet werden. Betriebssystemfehler %ls.", "バックアップ デバイス '%ls' を開けません。オペレーティング システム エラー %ls。"}},
    {3202, 16, {"Write on \"%ls\" failed: %ls", "Error de escritura en \"%ls\": %ls", "Fehler beim Schreiben auf \"%ls\": %ls", "\"%ls\" への書き込みに失敗しました: %ls"}},
    {3203, 16, {"Read on \"%ls\" failed: %ls"}},
    {3204, 16, {"The backup or restore was aborted.", "Se anuló la copia de seguridad o la restauración.", "Die Sicherung oder Wiederherstellung wurde abgebrochen.", "バックアップまたは復元は中断されました。"}},
    {3205, 16, {"Too many backup devices specified for backup or restore; only %d are allowed."}},
    {3211, 10, {"%d percent processed.", "%d por ciento procesado.", "%d Prozent verarbeitet.", "%d パーセント処理しました。"}},
    {3212, 16, {"The mirror set for the media family was not found or does not match."}},
    {3214, 16, {"Too many backup mirrors are specified. Only %d are allowed."}},
    {3217, 16, {"Invalid value specified for %ls parameter."}},
    {3218, 16, {"Backup mirroring is not available in this edition of SQL Server. See Books Online for more details on feature support in different SQL Server editions."}},
    {3231, 16, {"The media loaded on \"%ls\" is formatted to support %d media families, but %d media families are expected according to the backup device specification."}},
    {3241, 16, {"The media family on device '%ls' is incorrectly formed. SQL Server cannot process this media family."}},
    {3242, 16, {"The file on device '%ls' is not a valid Microsoft Tape Format backup set."}},
    {3250, 16, {"The value '%d' is not within range for the %ls parameter."}},
    {3253, 16, {"The block size parameter must supply a value that is a power of 2."}},
    {3265, 16, {"The login has insufficient authority. Membership of the sysadmin role is required to use VIRTUAL_DEVICE with BACKUP or RESTORE."}},
    {3271, 16, {"A nonrecoverable I/O error occurred on file \"%ls:\" %ls."}},
    {3272, 16, {"The '%hs' device has a hardware sector size of %d, but the block size parameter specifies an incompatible override value of %d. Reissue the statement using a compatible block size."}},
    {3291, 16, {"The option %ls is not allowed for a backup to this URL."}},
    {3298, 16, {"Backup/Restore to URL device error: %ls."}},
    {3609, 16, {"The transaction ended in the trigger. The batch has been aborted."}},
    {3633, 16, {"The operating system returned the error '%ls' while attempting '%ls' on '%ls' at '%hs'(%d)."}},
    {3634, 16, {"The operating system returned the error '%ls' while attempting '%ls' on '%ls'."}},
    {3701, 11, {"Cannot %S_MSG the %S_MSG '%.*ls', because it does not exist or you do not have permission."}},
    {3702, 16, {"Cannot drop database \"%.*ls\" because it is currently in use."}},
    {3709, 16, {"Cannot drop the database while the database snapshot \"%.*ls\" refers to it. Drop that database first."}},
    {3902, 16, {"The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION."}},
    {3903, 16, {"The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION."}},
    {3918, 16, {"The statement or function must be executed in the context of a user transaction."}},
    {3926, 10, {"The transaction active in this session has been committed or aborted by another session."}},
    {4035, 10, {"Processed %I64d pages for database '%ls', file '%ls' on file %d.", "Se han procesado %I64d páginas para la base de datos '%ls', archivo '%ls' en el archivo %d.", "%I64d Seiten wurden für die '%ls'-Datenbank, Datei '%ls' für Datei %d, verarbeitet.", "データベース '%2!' の %1! ページ、ファイル %4! のファイル '%3!' を処理しました。"}},
    {4060, 11, {"Cannot open database \"%.*ls\" requested by the login. The login failed.", "No se puede abrir la base de datos \"%.*ls\" solicitada por el inicio de sesión. Error de inicio de sesión.", "Die von der Anmeldung angeforderte \"%.*ls\"-Datenbank kann nicht geöffnet werden. Fehler bei der Anmeldung."}},
    {4104, 16, {"The multi-part identifier \"%.*ls\" could not be bound."}},
    {4121, 16, {"Cannot find either column \"%.*ls\" or the user-defined function or aggregate \"%.*ls\", or the name is ambiguous."}},
    {4145, 15, {"An expression of non-boolean type specified in a context where a condition is expected, near '%.*ls'."}},
    {4208, 16, {"The statement %hs is not allowed while the recovery model is SIMPLE. Use BACKUP DATABASE or change the recovery model using ALTER DATABASE."}},
    {4214, 16, {"BACKUP LOG cannot be performed because there is no current database backup."}},
    {5011, 14, {"User does not have permission to alter database '%.*ls', the database does not exist, or the database is not in a state that allows access checks."}},
    {5014, 16, {"The file '%ls' does not exist in database '%ls'."}},
    {5058, 16, {"Option '%.*ls' cannot be set in database '%.*ls'."}},
    {5069, 16, {"ALTER DATABASE statement failed."}},
    {5123, 16, {"CREATE FILE encountered operating system error %ls while attempting to open or create the physical file '%.*ls'."}},
    {5127, 16, {"All files must be specified for database snapshot creation. Missing the file \"%ls\"."}},
    {5128, 17, {"Write to sparse file '%ls' failed due to lack of disk space."}},
    {5170, 16, {"Cannot create file '%ls' because it already exists. Change the file path or the file name, and retry the operation."}},
    {5701, 10, {"Changed database context to '%.*ls'.", "Se cambió el contexto de la base de datos a '%.*ls'.", "Der Datenbankkontext wurde in '%.*ls' geändert.", "データベース コンテキストが '%.*ls' に変更されました。"}},
    {5703, 10, {"Changed language setting to %.*ls.", "Se cambió la configuración de idioma a %.*ls.", "Die Spracheneinstellung wurde in %.*ls geändert.", "言語設定が %.*ls に変更されました。"}},
    {6104, 16, {"Cannot use KILL to kill your own process."}},
    {6106, 16, {"Process ID %d is not an active process ID."}},
    {8115, 16, {"Arithmetic overflow error converting %ls to data type %ls."}},
    {8114, 16, {"Error converting data type %ls to %ls."}},
    {8117, 16, {"Operand data type %ls is invalid for %ls operator."}},
    {8120, 16, {"Column '%.*ls' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause."}},
    {8134, 16, {"Divide by zero error encountered.", "Error de división entre cero.", "Fehler aufgrund einer Division durch Null.", "0 除算エラーが発生しました。"}},
    {8144, 16, {"Procedure or function %.*ls has too many arguments specified."}},
    {8145, 16, {"%.*ls is not a parameter for procedure %.*ls."}},
    {8169, 16, {"Conversion failed when converting from a character string to uniqueidentifier."}},
    {8170, 16, {"Insufficient result space to convert uniqueidentifier value to char."}},
    {8189, 14, {"You do not have permission to run '%.*ls'."}},
    {8178, 16, {"The parameterized query '%.*ls' expects the parameter '%.*ls', which was not supplied."}},
    {8179, 16, {"Could not find prepared statement with handle %d."}},
    {8180, 16, {"Statement(s) could not be prepared."}},
    {2732, 16, {"Error number %ld is invalid. The number must be from %ld through %ld and it cannot be 50000."}},
    {2760, 16, {"The specified schema name \"%.*ls\" either does not exist or you do not have permission to use it."}},
    {2766, 16, {"The definition for user-defined data type '%.*ls' has changed."}},
    {2787, 16, {"Invalid format specification: '%.*ls'."}},
    {2402, 16, {"XQuery is not supported."}},
    {4902, 16, {"Cannot find the object \"%.*ls\" because it does not exist or you do not have permissions."}},
    {10709, 16, {"The number of columns for each row in a table value constructor must be the same."}},
    {13609, 16, {"JSON text is not properly formatted. Unexpected character '%.*ls' is found at position %d."}},
    {14234, 16, {"The specified '%s' is invalid (valid values are returned by %s)."}},
    {14261, 16, {"The specified %s ('%s') already exists."}},
    {14262, 16, {"The specified %s ('%s') does not exist."}},
    {14266, 16, {"The specified '%s' is invalid (valid values are: %s)."}},
    {14269, 16, {"Job '%s' is already targeted at server '%s'."}},
    {14294, 16, {"Supply either %s or %s to identify the job."}},
    {15123, 16, {"The configuration option '%ls' does not exist, or it may be an advanced option."}},
    {15151, 16, {"Cannot %S_MSG the %S_MSG '%.*ls', because it does not exist or you do not have permission."}},
    {15247, 16, {"User does not have permission to perform this action."}},
    {15281, 16, {"SQL Server blocked access to %S_MSG '%ls' of component '%.*ls' because this component is turned off as part of the security configuration for this server."}},
    {15457, 10, {"Configuration option '%ls' changed from %ld to %ld. Run the RECONFIGURE statement to install."}},
    {15625, 10, {"Option '%ls' not recognized for '%ls' parameter."}},
    {15626, 10, {"You attempted to acquire a transactional application lock without an active transaction."}},
    {16902, 16, {"%ls: The value of the parameter %ls is invalid."}},
    {18456, 14, {"Login failed for user '%.*ls'.", "Error de inicio de sesión del usuario '%.*ls'.", "Fehler bei der Anmeldung für den Benutzer '%.*ls'.", "ユーザー '%.*ls' はログインできませんでした。"}},
    {22049, 16, {"Error executing extended stored procedure: Invalid Parameter"}},
    {22001, 1, {"RegOpenKeyEx() returned error 2, 'The system cannot find the file specified.'"}},
    {31608, 16, {"An error occurred, failed to communicate with the external rest endpoint. HRESULT: %ls."}},
    {40508, 16, {"USE statement is not supported to switch between databases. Use a new connection to connect to a different database."}},
    {40510, 16, {"Statement '%.*ls' is not supported in this version of SQL Server."}},
};

static const struct {
    int lcid, id, column;
    const char *name, *alias;
} languages[] = {
    {1033, 0, 0, "us_english", "English"},
    {1031, 1, 2, "Deutsch", "German"},
    {1041, 3, 3, "日本語", "Japanese"},
    {3082, 5, 1, "Español", "Spanish"},
};
/* clang-format on */

#define LANGUAGES (sizeof(languages) / sizeof(*languages))

const struct sim_message *sim_message_at(int i)
{
    return i < (int)(sizeof(messages) / sizeof(*messages)) ? &messages[i] : NULL;
}

const struct sim_message *sim_message_find(int number)
{
    for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++)
        if (messages[i].number == number && messages[i].text[0])
            return &messages[i];
    return NULL;
}

int sim_language_find(const char *name)
{
    for (size_t i = 0; i < LANGUAGES; i++)
        if (sim_text_is(languages[i].name, name) || sim_text_is(languages[i].alias, name))
            return languages[i].lcid;
    return 0;
}

static size_t language_row(int lcid)
{
    for (size_t i = 0; i < LANGUAGES; i++)
        if (languages[i].lcid == lcid)
            return i;
    return 0;
}

const char *sim_language_name(int lcid)
{
    return languages[language_row(lcid)].name;
}

const char *sim_language_alias(int lcid)
{
    return languages[language_row(lcid)].alias;
}

int sim_language_id(int lcid)
{
    return languages[language_row(lcid)].id;
}

int sim_language_at(int i)
{
    return i < (int)LANGUAGES ? languages[i].lcid : 0;
}

/* Length of a placeholder at p, 0 if it is none; *index gets the argument of %1!. */
static size_t placeholder(const char *p, int *index)
{
    size_t n = 1;
    *index = -1;
    if (*p != '%')
        return 0;
    if (p[1] >= '1' && p[1] <= '9' && p[2] == '!') {
        *index = p[1] - '1';
        return 3;
    }
    if (!strncmp(p, "%S_MSG", 6))
        return 6;
    n += strspn(p + n, ".*0123456789");
    if (!strncmp(p + n, "I64", 3))
        n += 3;
    n += strspn(p + n, "lh");
    return p[n] == 'd' || p[n] == 's' || p[n] == 'u' || p[n] == 'x' ? n + 1 : 0;
}

const char *sim_message_text(struct arena *arena, int number, int lcid, const char *const *args,
                             int count)
{
    const struct sim_message *m = sim_message_find(number);
    struct bytes b = {0};
    int next = 0, index = 0;

    if (!m)
        return sim_arena_printf(arena, "Message %d.", number);
    const char *p = m->text[languages[language_row(lcid)].column];
    if (!p)
        p = m->text[0];
    while (*p) {
        size_t n = placeholder(p, &index);
        if (!n) {
            sim_bytes_put(&b, p++, 1);
            continue;
        }
        if (index < 0)
            index = next++;
        sim_bytes_text(&b, index < count ? args[index] : "(null)");
        p += n;
    }
    char *text = sim_arena_dup(arena, sim_bytes_str(&b));
    sim_bytes_fini(&b);
    return text;
}

const char *sim_num(struct session *s, int64_t n)
{
    return sim_arena_printf(&s->arena, "%lld", (long long)n);
}

bool sim_raise_text(struct session *s, int number, int severity, int state, const char *text)
{
    if (severity > 10)
        s->error = number;
    if (severity > 10 && s->try_depth > 0 && severity < 20) {
        if (!s->caught) {
            s->caught_number = number;
            s->caught_severity = severity;
            s->caught_state = state;
            s->caught_line = s->line;
        }
        s->caught_text = sim_arena_dup(&s->arena, text);
        s->caught_number = number;
        s->caught = true;
        return false;
    }
    sim_reply_info(s, number, state, severity, text);
    if (severity >= 20)
        s->closing = true;
    return false;
}

bool sim_raise_args(struct session *s, int number, int state, const char *const *args)
{
    const struct sim_message *m = sim_message_find(number);
    int n = 0;

    while (args[n])
        n++;
    const char *text = sim_message_text(&s->arena, number, s->language, args, n);
    return sim_raise_text(s, number, m ? m->severity : 16, state, text);
}
