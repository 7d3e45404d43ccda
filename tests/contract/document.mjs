// api/openapi.yaml, and what it says of an answer or a request. Two readings of its schemas: as they
// stand, and closed, where an object has no member more than is written there: what is answered must
// all be documented, although clients are told that members may be added.
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

const METHODS = ['get', 'put', 'post', 'delete'];

// Headers that are part of the contract: none of them may come where it is not documented.
const OURS = ['link', 'etag', 'location', 'retry-after', 'x-request-id', 'idempotency-replayed',
  'preference-applied', 'allow', 'www-authenticate'];

const escaped = key => String(key).replace(/~/g, '~0').replace(/\//g, '~1');

export class Document {
  constructor(file) {
    this.tree = parse(readFileSync(file, 'utf8'));
    this.open = this.#validator(this.tree);
    this.closed = this.#validator(closed(structuredClone(this.tree)));
    this.operations = Object.entries(this.tree.paths).flatMap(([path, item]) =>
      METHODS.filter(method => item[method]).map(method => this.#operation(path, item, method)));
  }

  #validator(tree) {
    const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
    addFormats(ajv);
    ajv.addSchema(tree, 'doc');
    const compiled = new Map();
    return where => {
      const pointer = where.map(escaped).map(encodeURIComponent).join('/');
      if (!compiled.has(pointer)) compiled.set(pointer, ajv.compile({ $ref: `doc#/${pointer}` }));
      return compiled.get(pointer);
    };
  }

  #operation(path, item, method) {
    const it = item[method];
    const at = ['paths', path, method];
    const parameters = [
      ...(item.parameters ?? []).map((_, i) => this.resolve(['paths', path, 'parameters', i])),
      ...(it.parameters ?? []).map((_, i) => this.resolve([...at, 'parameters', i])),
    ];
    const responses = Object.fromEntries(Object.keys(it.responses).map(status =>
      [status, this.resolve([...at, 'responses', status])]));
    const scope = it.security?.flatMap(choice => choice.bearer ?? [])[0] ?? null;
    return { id: it.operationId, path, method: method.toUpperCase(), at, parameters, responses, scope,
      body: it.requestBody && { ...it.requestBody, at: [...at, 'requestBody', 'content', 'application/json', 'schema'] } };
  }

  /** Follows a $ref, keeping where the thing stands: {at, it}. */
  resolve(at) {
    const it = at.reduce((tree, key) => tree[key], this.tree);
    return it.$ref ? this.resolve(it.$ref.slice(2).split('/').map(key => key.replace(/~1/g, '/').replace(/~0/g, '~'))) : { at, it };
  }

  operation(method, path) {
    return this.operations.find(it => it.method === method && it.path === path);
  }

  /** What is wrong with a value of a schema: a list of sentences. */
  faults(at, value, strictly = false) {
    const check = (strictly ? this.closed : this.open)(at);
    if (check(value)) return [];
    return check.errors.slice(0, 5).map(error => `${error.instancePath || '/'} ${error.message} ${JSON.stringify(error.params)}`);
  }

  /** Every example against its schema. */
  exampleFaults() {
    const faults = [];
    const look = at => {
      const it = at.reduce((tree, key) => tree[key], this.tree);
      if (!it || typeof it !== 'object') return;
      if (it.schema && !it.schema.properties?.schema) {
        const examples = it.examples ? Object.values(it.examples).map(one => one.value) : 'example' in it ? [it.example] : [];
        if (examples.length === 0) faults.push(`${at.join(' ')} has no example`);
        for (const example of examples)
          for (const fault of this.faults([...at, 'schema'], example, true)) faults.push(`${at.join(' ')}: the example ${fault}`);
      }
      for (const key of Object.keys(it)) if (!['schema', 'schemas', 'example', 'examples'].includes(key)) look([...at, key]);
    };
    look(['paths']);
    look(['components']);
    look(['webhooks']);
    return faults;
  }

  /** What of an answer breaks the contract. response: {status, headers, body: Buffer, json}. */
  violations(operation, response, { head = false } = {}) {
    const documented = operation.responses[response.status];
    if (!documented) return [`undocumented status ${response.status}`];
    return [
      ...this.#headerFaults(documented, response),
      ...(head ? headFaults(response) : this.#bodyFaults(documented, response)),
      ...this.problemFaults(response, head),
    ];
  }

  #headerFaults({ at, it }, response) {
    const faults = [];
    const named = Object.fromEntries(Object.keys(it.headers ?? {}).map(name => [name.toLowerCase(), [...at, 'headers', name]]));
    for (const [name, where] of Object.entries(named)) {
      const header = this.resolve(where);
      const value = response.headers[name];
      if (value === undefined) {
        if (header.it.required) faults.push(`the header ${name} is missing`);
        continue;
      }
      for (const fault of this.faults([...header.at, 'schema'], value)) faults.push(`the header ${name} ${fault}: ${value}`);
    }
    for (const name of OURS)
      if (response.headers[name] !== undefined && !named[name]) faults.push(`the header ${name} is not documented for ${response.status}`);
    return faults;
  }

  #bodyFaults({ at, it }, response) {
    const type = (response.headers['content-type'] ?? '').split(';')[0].trim();
    if (!it.content) return response.body.length === 0 ? [] : ['a body that is not documented'];
    if (!it.content[type]) return [`the media type ${type || '(none)'} is not documented`];
    if (!/json$/.test(type)) return response.body.length > 0 ? [] : ['an empty body'];
    if (response.json === undefined) return ['a body that is no JSON'];
    return this.faults([...at, 'content', type, 'schema'], response.json, true).map(fault => `body ${fault}`);
  }

  /** A problem must name its own status and request. */
  problemFaults(response, head) {
    if (head || !/^application\/problem\+json/.test(response.headers['content-type'] ?? '')) return [];
    const faults = this.faults(['components', 'schemas', 'Problem'], response.json, true);
    if (response.json?.status !== response.status) faults.push(`the problem says status ${response.json?.status}`);
    if (response.json?.request_id !== response.headers['x-request-id']) faults.push('request_id is not X-Request-Id');
    return faults;
  }
}

const headFaults = response => (response.body.length === 0 ? [] : ['HEAD has a body']);

/** The same document, whose objects take no other members than those that are written there. */
function closed(tree) {
  if (Array.isArray(tree)) tree.forEach(closed);
  else if (tree && typeof tree === 'object') {
    const types = [tree.type].flat();
    if (types.includes('object') && tree.properties && tree.additionalProperties === undefined) tree.additionalProperties = false;
    Object.values(tree).forEach(closed);
  }
  return tree;
}
