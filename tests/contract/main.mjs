// The contract test. Starts the simulator, the daemon and Prism, walks every route, sends generated
// calls, walks once more with tokens, and says what did not fit api/openapi.yaml.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Document } from './document.mjs';
import { Side, Tally } from './call.mjs';
import { Walk, walkScopes } from './walk.mjs';
import { Generated } from './generated.mjs';
import { folder, makeToken, startDaemon, startPrism, startSimulator, stop, stopAll } from './programs.mjs';

const source = process.env.SWEETSPOT_SOURCE;
const { values } = parseArgs({ options: {
  calls: { type: 'string', default: '500' },
  seed: { type: 'string', default: String(Date.now() % 1000000) },
  build: { type: 'string', default: join(source, 'build') },
} });
const file = join(source, 'api/openapi.yaml');
const secret = { SWEETSPOT_SECRET_CONTRACT: 'Sweetspot-1' };
// What the walk's own T-SQL runs under must have no rights to speak of.
const scenario = { time_scale: 0.01,
  logins: [{ name: 'sa', password: 'Sweetspot-1', sysadmin: true }, { name: 'walker', password: 'Sweetspot-1', roles: { AdventureWorks: ['db_datareader'] } }] };

async function withoutTokens(document, tally) {
  const path = join(folder, 'scenario.json');
  writeFileSync(path, JSON.stringify(scenario));
  const simulator = await startSimulator(values.build, path);
  const daemon = await startDaemon(values.build, 'open',
    ['--webhooks-allow', '127.0.0.1,localhost', '--secrets-dir', folder], secret);
  const prism = await startPrism(file, daemon.url);
  const side = new Side(document, tally, daemon, prism);
  const walk = new Walk(side, simulator.port);
  await walk.whole();
  await new Generated(side, walk.ids, { seed: Number(values.seed), calls: Number(values.calls) }).run();
  await walk.stopping(() => stop(daemon));
  await stop(prism, 5);
  await stop(simulator, 5);
}

async function withTokens(document, tally) {
  const tokens = Object.fromEntries(['read', 'submit', 'admin'].map(scope => [scope, makeToken(values.build, 'guarded', scope)]));
  const daemon = await startDaemon(values.build, 'guarded', [], secret);
  const prism = await startPrism(file, daemon.url);
  await walkScopes(new Side(document, tally, daemon, prism), tokens);
  await stop(prism, 5);
  await stop(daemon);
}

/** Which documented statuses no call met. */
function missing(document, tally) {
  const left = new Map();
  for (const operation of document.operations)
    for (const status of Object.keys(operation.responses))
      if (!tally.covered.get(`${operation.method} ${operation.path}`)?.has(status))
        left.set(status, [...(left.get(status) ?? []), operation.id]);
  return left;
}

function say(document, tally) {
  const documented = document.operations.reduce((sum, it) => sum + Object.keys(it.responses).length, 0);
  const seen = [...tally.covered.values()].reduce((sum, set) => sum + set.size, 0);
  console.log(`calls: ${tally.calls}`);
  console.log(`routes: ${tally.covered.size} of ${document.operations.length}; routes x statuses: ${seen} of ${documented} documented`);
  for (const [status, ids] of missing(document, tally))
    console.log(`not provoked: ${status} of ${ids.length > 6 ? `${ids.length} routes` : ids.join(', ')}`);
  console.log(`violations: ${tally.failures.length}`);
  console.log(`${tally.passed} passed, ${tally.failures.length} failed`);
}

async function main() {
  for (const name of ['sweetspotd', 'mssqlsim'])
    if (!existsSync(join(values.build, name))) throw new Error(`there is no ${join(values.build, name)}; build first`);
  console.log(`seed ${values.seed}, ${values.calls} generated calls`);
  const document = new Document(file);
  const tally = new Tally();
  tally.add('every example fits its schema', document.exampleFaults());
  await withoutTokens(document, tally);
  await withTokens(document, tally);
  say(document, tally);
  return tally.failures.length === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => {
    stopAll();
    process.exit(1);
  });

let status = 1;
try {
  status = await main();
} catch (error) {
  console.log(error);
  console.log('0 passed, 1 failed');
} finally {
  stopAll();
}
process.exit(status);
