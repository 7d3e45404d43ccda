// Values of a schema, drawn by fast-check, and the ways to spoil them.
import fc from 'fast-check';

const FOLDER = '/var/opt/mssql/backup';
const hex = n => fc.stringMatching(new RegExp(`^[0-9a-f]{${n}}$`));

// What a schema alone cannot draw: things that must exist (an instance, a folder that is allowed), and
// addresses, which must stay on the loopback.
const KNOWN = {
  instance: () => fc.constantFrom('sql01', 'dead'),
  host: () => fc.constantFrom('127.0.0.1', 'localhost', '::1', 'db1.localhost'),
  env: () => fc.stringMatching(/^SWEETSPOT_SECRET_[A-Z][A-Z0-9_]{0,20}$/),
  file: () => fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/),
  url: it => fc.oneof(
    fc.stringMatching(/^https?:\/\/(127\.0\.0\.1|localhost):[1-9](\/[a-z0-9]{1,9}){0,3}(\?[a-z]=[0-9]{1,4})?$/), it.draw({ $ref: '#/components/schemas/Secret' })),
  time_zone: () => fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'),
  notify: () => fc.constantFrom([], ['dba-chat']),
  baseline: () => fc.constantFrom(null, 'latest'),
  not_before: () => fc.constantFrom(null, '2050-01-01T00:00:00Z', '2051-06-30T23:59:59.5+05:30', '2050-01-01t00:00:00z'),
  deadline: () => fc.constantFrom(null, '2060-01-01T00:00:00Z', '2061-02-28T12:00:00.123456-11:00'),
  since: () => fc.constantFrom('2026-01-31T00:00:00Z', '1971-01-01T00:00:00+01:00', '2026-12-01T00:00:00.999Z'),
  source: () => fc.constantFrom('Sales.Big', '[a.b].[c]]d]', 'dbo.Ünïcode'),
  mode: () => fc.constant('paused'), // else all that is submitted here would run
  flags: () => fc.constant([3042]),
  path: () => fc.constantFrom(FOLDER, `${FOLDER}/daily`, `${FOLDER}/a b'c`),
};

/** Draws for one document. */
export class Draw {
  constructor(document) {
    this.document = document;
  }

  deref(schema) {
    if (!schema.$ref) return schema;
    return this.document.resolve(schema.$ref.slice(2).split('/')).it;
  }

  /** An arbitrary of a schema. */
  draw(given, name = '') {
    if (KNOWN[name]) return KNOWN[name](this);
    const schema = this.deref(given);
    if ('const' in schema) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    if (schema.oneOf && schema.properties) return fc.oneof(...schema.oneOf.map(branch => this.#object(merged(schema, branch), name)));
    if (schema.oneOf) return fc.oneof(...schema.oneOf.map(branch => this.draw(branch)));
    if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map(type => this.draw({ ...schema, type })));
    if (!schema.type) return fc.constantFrom(null, 1, 'anything', {}); // any value will do
    switch (schema.type) {
      case 'object': return this.#object(schema, name);
      case 'array': return this.#array(schema, name);
      case 'string': return text(schema);
      case 'integer': return whole(schema);
      case 'number': return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
      case 'boolean': return fc.boolean();
      case 'null': return fc.constant(null);
      default: throw new Error(`nothing to draw: ${JSON.stringify(schema).slice(0, 200)}`);
    }
  }

  #object(schema, name) {
    if (name === 'target' || schema === this.deref({ $ref: '#/components/schemas/Target' })) return this.#target();
    if (!schema.properties && schema.additionalProperties)
      return fc.dictionary(text(schema.propertyNames), this.draw(schema.additionalProperties), { maxKeys: Math.min(schema.maxProperties ?? 4, 4) });
    if (!schema.properties) return fc.constant({});
    const members = Object.fromEntries(Object.entries(schema.properties).map(([key, value]) => [key, this.draw(value, key)]));
    return fc.record(members, { requiredKeys: schema.required ?? [] }).map(value => ({ ...value })); // with a prototype
  }

  #target() {
    const on = paths => fc.record({ name: text({ maxLength: 64, minLength: 1 }), paths, files: fc.integer({ min: 1, max: 64 }) }, { requiredKeys: ['name', 'paths'] });
    return fc.oneof(on(fc.constant(['NUL'])), on(fc.array(KNOWN.path(), { minLength: 1, maxLength: 3 }))).map(value => ({ ...value }));
  }

  #array(schema, name) {
    const size = { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 5, Math.max(schema.minItems ?? 0, 5)) };
    const item = name === 'paths' ? KNOWN.path() : this.draw(schema.items);
    return schema.uniqueItems ? fc.uniqueArray(item, size) : fc.array(item, size);
  }
}

const merged = (schema, branch) => ({ ...schema, oneOf: undefined, properties: { ...schema.properties, ...branch.properties } });

function whole({ minimum = -1000, maximum = 1000, multipleOf = 1 }) {
  const low = Math.ceil(minimum / multipleOf);
  const high = Math.floor(maximum / multipleOf);
  const near = fc.integer({ min: low, max: Math.min(high, low + 200) }); // what people write
  return fc.oneof({ weight: 6, arbitrary: near }, fc.constantFrom(low, high), fc.maxSafeInteger().map(n => low + (Math.abs(n) % (high - low + 1)))).map(n => n * multipleOf);
}

// Texts of any script, without U+0000 (RFC 8259 takes it, we do not: SQL Server and C end there) and,
// where the schema's pattern says so, without other control characters.
function text({ minLength = 0, maxLength = 200, pattern, format }) {
  if (format === 'uuid') return fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map(parts => parts.join('-'));
  const fits = value => {
    const length = [...value].length;
    return length >= minLength && length <= maxLength && !value.includes('\0') && (!pattern || new RegExp(pattern, 'u').test(value));
  };
  // Filters must pass often: where a pattern asks for something, the text is made from it.
  const free = pattern === undefined || /^\^\[\^[^\]]*\]\*\$$/.test(pattern);
  const size = max => ({ minLength, maxLength: Math.min(maxLength, max) });
  if (!free) return fc.stringMatching(new RegExp(pattern)).filter(fits);
  const unit = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789 _-.') },
    fc.constantFrom('ü', '漢', '😀', '"', '\\', "'", ']', '%', '<', '\u200b'));
  return fc.oneof({ weight: 8, arbitrary: fc.string({ unit, ...size(12) }) }, fc.string({ unit, minLength: Math.min(maxLength, 300), maxLength: Math.min(maxLength, 300) })).filter(fits);
}

/* --- spoiling -------------------------------------------------------------------------------- */

/** Every place in a value: [holder, key]. */
function places(value, into = []) {
  if (value && typeof value === 'object')
    for (const key of Object.keys(value)) {
      into.push([value, key]);
      places(value[key], into);
    }
  return into;
}

const objects = value => [value, ...places(value).map(([holder, key]) => holder[key])].filter(it => it && typeof it === 'object' && !Array.isArray(it));

const SPOILERS = {
  'wrong type': (value, pick) => change(value, pick, was => pick([7, 'seven', true, null, [], {}, [[]], 1.5].filter(it => typeof it !== typeof was || it === null !== (was === null)))),
  'unknown member': (value, pick) => {
    const holder = pick(objects(value));
    holder[pick(['unknown', 'Kind', 'max_minutes', 'databse', '', ' ', '__proto', 'kind ', 'ｋind'])] = pick([1, null, 'x', {}]);
    return value;
  },
  'missing member': (value, pick) => {
    const holder = pick(objects(value).filter(it => Object.keys(it).length > 0));
    if (holder) delete holder[pick(Object.keys(holder))];
    return value;
  },
  'out of range': (value, pick) => change(value, pick, was =>
    typeof was === 'number' ? pick([-1, 0, 0.5, 1e12 + 1, 9007199254740991, -9007199254740991, was + 0.25, 1e300, -0.001, 65537, 2147483648]) : pick(['', 'x'.repeat(5000), '\t', '\u0001', '../..'])),
  'long list': (value, pick) => change(value, pick, was => Array.from({ length: pick([33, 65, 101, 257]) }, (_, i) => (Array.isArray(was) && was.length > 0 ? was[0] : i))),
};

function change(value, pick, how) {
  const at = pick(places(value));
  if (!at) return value;
  const [holder, key] = at;
  holder[key] = how(holder[key]);
  return value;
}

/** One spoiled copy: {value, how}. pick(list) chooses. */
export function spoil(value, pick) {
  const how = pick(Object.keys(SPOILERS));
  return { how, value: SPOILERS[how](structuredClone(value), pick) };
}

/** Texts that are no JSON of ours, and what is wrong with each. */
export function badTexts(value) {
  const text = JSON.stringify(value);
  const member = text.length > 2 ? text.slice(1, -1) : '"a":1';
  return [
    ['cut off', text.slice(0, -1)],
    ['no JSON', 'hello'],
    ['two values', `${text}{}`],
    ['a comma too many', `{${member},}`],
    ['a comment', `{/* */${member}}`],
    ['single quotes', "{'kind': 1}"],
    ['NaN', '{"priority": NaN}'],
    ['a member twice', `{${member},${member}}`],
    ['BOM', `\ufeff${text}`],
    ['a list', `[${text}]`],
    ['a text', '"x"'],
    ['null', 'null'],
    ['too deep', `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`],
    ['a number too large', '{"priority": 1e999}'],
    ['a whole number beyond 2^53', '{"priority": 9007199254740993}'],
    ['U+0000', '{"kind": "a\\u0000b"}'],
    ['half a pair', '{"kind": "\\ud800"}'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ];
}
