// Children of the test: each is started here, on a port it chooses, and ended by its pid.
import { execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequire } from 'node:module';

const running = new Set();
export const folder = mkdtempSync(join(tmpdir(), 'sweetspot-contract-'));

export const pause = ms => new Promise(done => setTimeout(done, ms));

/** Starts a program and waits until its standard output matches; resolves with the match. */
export async function start(name, command, args, ready, env = {}) {
  const log = openSync(join(folder, `${name}.log`), 'a');
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', log] });
  closeSync(log);
  running.add(child);
  child.once('exit', () => running.delete(child));
  let text = '';
  let found = null;
  child.stdout.on('data', data => {
    if (found) return; // read on, so that the pipe never fills
    text += data;
    found = text.match(ready);
  });
  for (let i = 0; i < 600 && !found; i++) {
    if (child.exitCode !== null) break;
    await pause(50);
  }
  if (!found) throw new Error(`${name} did not come up:\n${text}${readFileSync(join(folder, `${name}.log`))}`);
  return { child, match: found };
}

/** Ends a child: SIGTERM, after a while SIGKILL. Resolves with its exit status. */
export async function stop({ child }, seconds = 30) {
  if (child.exitCode === null) child.kill('SIGTERM');
  for (let i = 0; i < seconds * 20 && child.exitCode === null && child.signalCode === null; i++) await pause(50);
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  return child.exitCode;
}

/** Ends all that still run; for every way out. */
export function stopAll() {
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

export const freePort = () =>
  new Promise(done => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

export async function startSimulator(build, scenario) {
  const it = await start('mssqlsim', join(build, 'mssqlsim'), ['--listen', '127.0.0.1:0', '--scenario', scenario],
    /ready on 127\.0\.0\.1:(\d+)/);
  return { ...it, port: Number(it.match[1]) };
}

export async function startDaemon(build, name, args, env) {
  const it = await start(name, join(build, 'sweetspotd'),
    ['--listen', '127.0.0.1:0', '--state-dir', join(folder, name), ...args], /ready on (http:\/\/\S+)/, env);
  return { ...it, url: it.match[1] };
}

export const makeToken = (build, name, scope) =>
  execFileSync(join(build, 'sweetspotd'),
    ['token', 'create', '--name', scope, '--scope', scope, '--state-dir', join(folder, name)],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).match(/\S{32,}/)[0];

/** Prism in front of a daemon. Without --errors it passes everything on and tells in a header what
 * breaks the contract: with it, it would keep bad requests from the daemon, which is to see them. */
export async function startPrism(document, upstream) {
  const port = await freePort();
  const bin = createRequire(import.meta.url).resolve('@stoplight/prism-cli/dist/index.js');
  const it = await start('prism', process.execPath,
    [bin, 'proxy', '--host', '127.0.0.1', '--port', String(port), '--cors=false', '--multiprocess=false', document, upstream],
    /Prism is listening on/, { NO_COLOR: '1' });
  return { ...it, url: `http://127.0.0.1:${port}` };
}
