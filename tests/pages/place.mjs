// What is measured for one payload: a simulated server that is full of it, an instance, a webhook and
// a job of each kind, with the payload in every text that may reach a page.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder, startSimulator } from '../contract/programs.mjs';
import { send } from '../contract/call.mjs';

const BACKUP = '/var/opt/mssql/backup';
const PASSWORD = 'Sweetspot-1';
const NAME_CHARS = 64;

// Each field's value ends with a mark of its own, which tells where it turned up.
export const fields = {
  database: '~db', 'another database': '~fd', 'data file': '~df', 'log file': '~lf', login: '~lo', 'instance label': '~il', lane: '~la',
  target: '~ta', path: '~pa', location: '~lc', 'label name': '~ln', label: '~jl', 'requested by': '~rb',
  'workload text': '~wo', 'error text': '~er', 'database of history': '~hd',
};
const marked = (payload, field, chars = 1000) => payload.slice(0, chars - fields[field].length) + fields[field];

function valuesOf(payload) {
  const named = field => marked(payload, field, NAME_CHARS);
  const all = Object.fromEntries(Object.keys(fields).map(field => [field, marked(payload, field)]));
  return { ...all, lane: named('lane'), target: named('target'), location: named('location'),
    'label name': named('label name').replaceAll(':', '.'),
    login: all.login.replaceAll('\\', '/'), // DOMAIN\name is another kind of login
    path: `${BACKUP}/${all.path.replace(/[*?]/g, '+')}` }; // a path may have no wildcard
}

const quoted = name => `[${name.replaceAll(']', ']]')}]`;

/** The server: names, files and texts that hold the payload. */
function scenarioOf(value) {
  const database = (name, mib) => ({ name, files: [
    { name: value['data file'], path: `/var/opt/mssql/data/${name}.mdf`, type: 'ROWS', mib },
    { name: value['log file'], path: `/var/opt/mssql/data/${name}.ldf`, type: 'LOG', mib: 8 }] });
  return { time_scale: 0,
    logins: [{ name: value.login, password: PASSWORD, sysadmin: true }, { name: 'walker', password: PASSWORD, roles: { [value.database]: ['db_datareader'] } }],
    databases: [database(value.database, 64), database(value['another database'], 32)],
    folders: [BACKUP, value.path],
    faults: [
      // a backup of somebody else, for the history; nothing is measured until its second is over
      { do: 'foreign_backup', on: true, database: value.database, percent: 1, seconds: 1 },
      { do: 'error', match: `BACKUP DATABASE ${quoted(value['another database'])}`, nth: 6, times: -1, number: 3201, severity: 16, text: value['error text'] },
    ] };
}

const instanceOf = (value, port) => ({
  host: '127.0.0.1', port, login: value.login, password: { env: 'SWEETSPOT_SECRET_CONTRACT' }, encryption: 'request',
  environment: 'test', lanes: [value.lane], allow: { paths: [BACKUP], trace_flags: [3042], custom_sql: true },
  custom_login: 'walker', custom_password: { env: 'SWEETSPOT_SECRET_CONTRACT' }, labels: { [value['label name']]: value['instance label'] },
});

function jobsOf(value, instance, webhook) {
  const all = { instance, design: { repetitions: 3, warmups: 0, seed: 42 }, notify: [webhook],
    labels: { [value['label name']]: value.label }, requested_by: value['requested by'] };
  const target = { name: value.target, paths: [value.path] };
  const database = value.database;
  return {
    sweep: { ...all, kind: 'backup_sweep', parameters: { database, buffercount: ['default', 50], confirm_on: target } },
    failing: { ...all, kind: 'backup_sweep', parameters: { database: value['another database'], targets: [target], buffercount: ['default', 50] } },
    throughput: { ...all, kind: 'backup_throughput', parameters: { databases: [database], targets: [target] } },
    flag: { ...all, kind: 'trace_flag', parameters: { databases: [database], target } },
    snapshot: { ...all, kind: 'snapshot_overhead', parameters: { database, snapshots: [0, 1], locations: [{ name: value.location, path: value.path }],
      workload: { sql: `SELECT 1 AS ${quoted(value['workload text'])}` } } },
    history: { ...all, kind: 'backup_history', parameters: { databases: [database, value['database of history']] } },
  };
}

/** POST or PUT of JSON, which must be taken. */
export async function tell(daemon, method, target, json, statuses, headers = {}) {
  const body = JSON.stringify(json);
  const answer = await send(daemon.url, { method, target, body,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers } });
  if (!statuses.includes(answer.status))
    throw new Error(`${method} ${target} ${body}: ${answer.status} ${answer.body.toString().slice(0, 1000)}`);
  return answer;
}

/** Starts the server, registers it, and measures. Resolves with the simulator, names and jobs. */
export async function furnish(build, daemon, index, payload, elsewhere) {
  const value = valuesOf(payload);
  const path = join(folder, `scenario-${index}.json`);
  writeFileSync(path, JSON.stringify(scenarioOf(value)));
  const simulator = await startSimulator(build, path);
  const instance = `sql${index}`;
  const webhook = `hook${index}`;
  await tell(daemon, 'PUT', `/v1/instances/${instance}`, instanceOf(value, simulator.port), [201]);
  await tell(daemon, 'PUT', `/v1/webhooks/${webhook}`, { url: `http://${elsewhere}/hook/${encodeURIComponent(payload)}`, format: 'json', events: ['*'] }, [201]);
  await tell(daemon, 'POST', `/v1/instances/${instance}/check`, {}, [200]);
  const jobs = {};
  for (const [name, job] of Object.entries(jobsOf(value, instance, webhook))) {
    const { json } = await tell(daemon, 'POST', '/v1/jobs', job, [202], { prefer: 'wait=60' });
    if (!json.finished_at) throw new Error(`${name} did not end: ${JSON.stringify(json)}`);
    jobs[name] = json;
  }
  return { simulator, instance, webhook, value, jobs };
}
