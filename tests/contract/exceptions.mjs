// Why a body that fits the schemas may be refused with 400 all the same: rules between members, which
// JSON Schema says badly or not at all, and what only the daemon knows. [pattern of
// pointer and detail, reason]
export const EXCEPTIONS = [
  // rules between members
  [/makes one setting only/, 'a sweep compares at least two settings: a product over all lists'],
  [/(arms|trials).*the limit is|makes \d+ trials/, 'at most 256 arms and 10,000 trials: products over lists'],
  [/MiB of buffers .*the limit buffer_memory_mib/, 'BUFFERCOUNT x MAXTRANSFERSIZE x sets against the limits of job and instance'],
  [/is another (target|location)'s name already/, 'names of targets and locations are unique by one member'],
  [/cannot stand beside the swept list "files"/, 'files in targets or as a list, not both'],
  [/is the name of a swept target/, 'confirm_on is another target'],
  [/"NUL" cannot be mixed/, 'NUL stands alone in paths'],
  [/is kept for the target that discards/, 'only what discards is called NUL'],
  [/is not offered for/, 'stop_early is of some kinds'],
  [/"race" (looks|drops)/, 'race is of backup_sweep, and not with abba'],
  [/abba compares two arms/, 'abba is of two arms'],
  [/must be after not_before/, 'deadline against not_before'],
  [/no effect can be measured/, 'trace flag 3042 needs a compressed file'],
  [/goes together with custom_password/, 'custom_login and custom_password, both or none'],
  [/is equal to from/, 'a window is a whole day or none'],
  [/needs ca_file/, 'verify_host needs ca_file'],
  [/needs "encryption": "require"/, 'ca_file needs encryption'],
  [/needs a number above 0/, 'snapshots [0] alone has nothing to compare'],
  [/a kind without trials has nothing to compare/, 'baseline is of kinds with trials'],
  [/must have at most \d+ members/, 'labels'],
  // what only the daemon or SQL Server knows
  [/ca_file must not contain/, 'what a configuration file of the ODBC driver cannot hold'],
  [/UTF-16 units/, "SQL Server counts a name in UTF-16 units, JSON Schema in characters"],
  [/tempdb cannot be backed up|is a system database/, 'some databases are never measured'],
  [/is not in the instance's allow\.trace_flags/, 'allow of the instance'],
  [/is not below the instance's allow\.paths/, 'allow of the instance'],
  [/must not contain "\.\."/, 'a path that leaves its folder is below none'],
  [/is too long: a file's name/, 'a file name follows the folder'],
  [/this machine has no time zone|zoneinfo/, 'zones are those of the machine'],
  [/must be the full path|must be a full path/, 'a path as its platform has it'],
  [/there is no (instance|webhook|job) (of this name|with this id)/, 'what a body names must exist'],
  [/^\/name must be "/, "name may be there when it is the path's"],
  [/must be a next_cursor of this list/, 'a cursor is what the list gave before'],
];
