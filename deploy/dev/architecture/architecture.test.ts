// Checks the architecture. A rule that fails lists its violations, one per line.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { circles } from './circles.ts'
import { readSources, type Source } from './sources.ts'

const ROOT = new URL('../../../', import.meta.url)
const SOURCES = readSources(ROOT, ['schemas', 'engine', 'api', 'bench', 'deploy'])
const BY_PATH = new Map(SOURCES.map((source) => [source.path, source]))
const PROGRAM = SOURCES.filter(({ isTest }) => !isTest)

const IMPORTED = namesImported(PROGRAM)
const IMPORTED_BY_TESTS = namesImported(SOURCES.filter(({ isTest }) => isTest))

const NAMES_RUN = new Set(
  SOURCES.flatMap(({ code }) => [...code.matchAll(/[/']([\w-]+)\.js'/g)].map(([, name = '']) => name)),
)

/** The layer of a path is the first one that matches. */
const LAYERS = [
  ['schemas/', 'schemas'],
  ['engine/limits.ts', 'limits'],
  ['engine/limits/', 'limits'],
  ['engine/sockets/', 'sockets'],
  ['engine/domain/', 'domain'],
  ['engine/ports/', 'ports'],
  ['engine/adapters/', 'adapters'],
  ['engine/runtime/', 'runtime'],
  ['engine/sim/', 'sim'],
  ['engine/edge/', 'edge'],
  ['engine/testing/', 'tools'],
  ['engine/', 'engine'],
  ['api/service/profiles', 'profiles'],
  ['api/service/main.ts', 'main'],
  ['api/service/simulation.ts', 'main'],
  ['api/service/', 'service'],
  ['api/cli/', 'cli'],
  ['api/root.ts', 'root'],
  ['api/bodies/', 'bodies'],
  ['api/openapi/', 'openapi'],
  ['api/rates/', 'rates'],
  ['api/auth/', 'auth'],
  ['api/http/', 'http'],
  ['api/bulk/', 'bulk'],
  ['api/routes/', 'routes'],
  ['api/ddi/', 'ddi'],
  ['api/ws/', 'ws'],
  ['api/dashboard/app/', 'dashboard'],
  ['api/dashboard/build/', 'tools'],
  ['api/dashboard/', 'pages'],
  ['api/', 'api'],
  ['bench/', 'tools'],
  ['deploy/', 'tools'],
] as const
type Layer = (typeof LAYERS)[number][1]

/** The parts of the engine that the API may use: its public surface, its ports, and everything pure. */
const ENGINE = ['schemas', 'limits', 'sockets', 'domain', 'ports', 'engine'] as const

/** Layers that a layer may import besides itself. Only profiles choose adapters (R13); the simulation is a profile, too. */
const MAY_IMPORT: Readonly<Record<Exclude<Layer, 'tools'>, readonly Layer[]>> = {
  schemas: [],
  limits: ['schemas'],
  /** The broker and the API both use these. */
  sockets: ['limits'],
  domain: ['schemas', 'limits'],
  ports: ['schemas', 'limits', 'domain'],
  adapters: ['schemas', 'limits', 'sockets', 'domain', 'ports'],
  runtime: ['schemas', 'limits', 'domain', 'ports'],
  engine: ['schemas', 'limits', 'domain', 'ports', 'runtime'],
  sim: ['schemas', 'limits', 'domain', 'ports', 'runtime', 'engine', 'adapters', 'edge', 'tools'],
  edge: ['schemas'],
  /** Where the project is. */
  root: [],
  /** Refusals, ids and limits that several folders of the API need. */
  api: ENGINE,
  bodies: ENGINE,
  openapi: ENGINE,
  rates: [...ENGINE, 'api'],
  auth: [...ENGINE, 'api', 'rates'],
  http: [...ENGINE, 'api', 'rates', 'auth'],
  bulk: [...ENGINE, 'api', 'http'],
  /** These serve files for browsers from memory. */
  pages: [...ENGINE, 'api', 'http'],
  routes: [...ENGINE, 'api', 'bodies', 'openapi', 'auth', 'http', 'bulk'],
  ddi: [...ENGINE, 'api', 'rates', 'auth', 'http'],
  ws: [...ENGINE, 'api', 'bodies', 'rates', 'auth'],
  service: [...ENGINE, 'api', 'rates', 'auth', 'http', 'openapi', 'pages', 'routes', 'ddi', 'ws', 'profiles'],
  profiles: [...ENGINE, 'adapters', 'api', 'auth', 'service'],
  main: [...ENGINE, 'edge', 'root', 'api', 'auth', 'service', 'profiles'],
  /** A client of the API, with the simulated devices. */
  cli: ['schemas', 'edge', 'root'],
  /** The browser's part. From the rest of the project it uses only the schemas, as types and through the client. */
  dashboard: ['schemas', 'tools'],
}

/** The folders that may import each package. A new dependency needs a line here. Benches and tests may import any. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  '@fastify/busboy': ['api/http/'],
  '@clickhouse/client': ['engine/adapters/telemetry/'],
  '@nats-io/jetstream': ['engine/adapters/'],
  '@nats-io/kv': ['engine/adapters/'],
  '@nats-io/transport-node': ['engine/adapters/'],
  '@node-rs/argon2': ['api/auth/'],
  ajv: ['schemas/', 'api/'],
  aws4fetch: ['engine/adapters/blobs/'],
  chdb: ['engine/adapters/telemetry/'],
  commander: ['api/cli/'],
  fastify: ['api/'],
  'ipaddr.js': ['engine/domain/outbound/'],
  ioredis: ['engine/adapters/'],
  jose: ['api/auth/'],
  lmdb: ['engine/adapters/'],
  mqtt: ['engine/adapters/broker/', 'engine/edge/'],
  'mqtt-packet': ['engine/adapters/broker/', 'engine/edge/'],
  msgpackr: ['engine/domain/packing.ts'],
  nodemailer: ['engine/adapters/mail/'],
  pino: ['api/'],
  piscina: ['engine/runtime/'],
  'prom-client': ['engine/runtime/', 'api/'],
  typebox: ['schemas/', 'api/'],
  'uWebSockets.js': ['api/ws/'],
  ws: ['api/cli/', 'engine/edge/'],
  yaml: ['api/', 'engine/edge/'],
}

/** Packages that the build bundles into the dashboard, so the service does not need them. */
const BUNDLED: Readonly<Record<string, readonly string[]>> = {
  '@preact/signals': ['api/dashboard/app/'],
  preact: ['api/dashboard/app/'],
  uplot: ['api/dashboard/app/charts/'],
  'virtual:sprite': ['api/dashboard/app/parts/'],
}

/** An adapter file may reach the packages of one technology at most (R13). */
const TECHNOLOGIES: Readonly<Record<string, string>> = {
  aws4fetch: 'S3',
  'mqtt-packet': 'MQTT',
  mqtt: 'MQTT',
  lmdb: 'lmdb',
  chdb: 'ClickHouse',
  '@clickhouse/client': 'ClickHouse',
  '@nats-io/jetstream': 'NATS',
  '@nats-io/kv': 'NATS',
  '@nats-io/transport-node': 'NATS',
  ioredis: 'Redis',
}

/** Files that people and tools run or import, but no other source does. */
const ENTRY_POINTS =
  /^(api\/service\/main|engine\/index|engine\/edge\/device\/index|engine\/sim\/run|bench\/run|bench\/micro\/[\w-]+|bench\/load\/k6\/[\w-]+|api\/cli\/main)\.ts$|^api\/dashboard\/(app\/(main|live\/worker)\.tsx?|build\/vite\.config\.ts)$|\.mjs$/

/** The table definitions as text, for `deploy/clickhouse`. */
const USED_BY_TESTS_ALONE = /^(engine\/adapters\/telemetry\/clickhouse\/schema\.ts$)/

const LINES_MAX = 400
const LINES_LONG = 250
const IMPURE =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\b|\bprocess\.|\basync\b|\bawait\b|\bPromise\b|\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b|\bcrypto\b|\bfetch\(/g
const LEFTOVERS = new RegExp(`\\b(${['TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK', 'XX' + 'X'].join('|')})\\b`, 'g')
const LEFTOVER_CODE = /\b(?:test|it|describe)\.only\b|\bdebugger\b/g
const NAMELESS = /\/(utils?|helpers?|common|types|misc)\.ts$/

describe('imports', () => {
  test('imports point one way: schemas, domain, ports, adapters and runtime, engine, api', () => {
    expect(PROGRAM.flatMap(wrongDirections)).toEqual([])
  })

  test('imports form no circle of files or folders', () => {
    expect(circles(PROGRAM)).toEqual([])
  })

  test('ports take only types from the domain', () => {
    const ports = PROGRAM.filter(({ path }) => layerOf(path) === 'ports')
    const values = ports.flatMap(({ path, imports }) =>
      imports
        .filter(({ target, isTypeOnly }) => layerOf(target) === 'domain' && !isTypeOnly)
        .map(({ target }) => `${path} imports values of ${target}`),
    )
    expect(values).toEqual([])
  })

  test('only tests, benches and the simulation import what is made for tests', () => {
    const program = PROGRAM.filter(({ path }) => !/^(bench|engine\/sim)\//.test(path)).flatMap(
      ({ path, imports }) =>
        imports
          .filter(({ target }) => BY_PATH.get(target)?.isTest)
          .map(({ target }) => `${path} imports ${target}`),
    )
    expect(program).toEqual([])
  })

  test('nobody imports the composition root', () => {
    const importers = SOURCES.filter(({ imports }) =>
      imports.some(({ target }) => target === 'api/service/main.ts'),
    )
    expect(importers.map(({ path }) => path)).toEqual([])
  })

  test('a package is imported only where the table allows it', () => {
    const strays = PROGRAM.filter(({ path }) => layerOf(path) !== 'tools').flatMap(({ path, imports }) =>
      imports
        .filter(({ target, isFile }) => !isFile && !target.startsWith('node:'))
        .filter(({ target }) => {
          return !(PACKAGES[target] ?? BUNDLED[target])?.some((folder) => path.startsWith(folder))
        })
        .map(({ target }) => `${path} imports ${target}`),
    )
    expect(strays).toEqual([])
  })

  test('an adapter reaches one technology', () => {
    const adapters = PROGRAM.filter(({ path }) => layerOf(path) === 'adapters')
    const mixed = adapters.flatMap((source) => {
      const reached = [...technologiesOf(source)]
      return reached.length > 1 ? [`${source.path} reaches ${reached.join(' and ')}`] : []
    })
    expect(mixed).toEqual([])
  })
})

describe('the domain', () => {
  const domain = PROGRAM.filter(({ path }) => layerOf(path) === 'domain')

  test('the domain uses no module of the platform but bytes (R3)', () => {
    const used = domain.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target.startsWith('node:') && target !== 'node:buffer')
        // A hash is a pure function, and it assigns devices to partitions.
        .filter(({ target }) => path !== 'engine/domain/partition.ts' || target !== 'node:crypto')
        .map(({ target }) => `${path} imports ${target}`),
    )
    expect(used).toEqual([])
  })

  test('the domain has no clock, randomness, I/O or waiting (R3)', () => {
    expect(domain.flatMap((source) => matches(source.path, source.bare, IMPURE))).toEqual([])
  })
})

describe('files', () => {
  test(`files stop at ${LINES_MAX} lines`, ({ annotate }) => {
    const long = SOURCES.filter(({ lines }) => lines > LINES_LONG).map(({ path, lines }) => ({ path, lines }))
    const pending = long.map(({ path, lines }) => annotate(`${path} has ${lines} lines`, 'warning'))
    expect(long.filter(({ lines }) => lines > LINES_MAX)).toEqual([])
    return Promise.all(pending)
  })

  test('files are named after what they hold, in kebab case', () => {
    const odd = SOURCES.filter(({ path }) => NAMELESS.test(path) || !/^[a-z0-9./-]+$/.test(path))
    expect(odd.map(({ path }) => path)).toEqual([])
  })

  test('files hold no leftover markers, focused tests or breakpoints', () => {
    const left = SOURCES.flatMap(({ path, text, bare }) => {
      return [...matches(path, text, LEFTOVERS), ...matches(path, bare, LEFTOVER_CODE)]
    })
    expect(left).toEqual([])
  })

  test('the environment is read in one place of the service and one of the command line', () => {
    const places = ['api/service/settings/settings.ts', 'api/cli/environment.ts']
    const readers = PROGRAM.filter(({ path }) => layerOf(path) !== 'tools' && !places.includes(path))
    expect(readers.flatMap(({ path, bare }) => matches(path, bare, /\bprocess\.env\b/g))).toEqual([])
  })

  test('files export nothing that only tests use, or nobody', () => {
    const judged = PROGRAM.filter(({ path }) => !ENTRY_POINTS.test(path) && !USED_BY_TESTS_ALONE.test(path))
    expect(judged.flatMap(deadExports)).toEqual([])
  })
})

describe('dependencies', () => {
  // The file belongs to this project, and a wrong shape fails the test.
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(new URL('package.json', ROOT), 'utf8'),
  ) as {
    readonly dependencies: Readonly<Record<string, string>>
    readonly devDependencies: Readonly<Record<string, string>>
  }
  // npm defines this format.
  const { packages: locked } = JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')) as {
    readonly packages: Readonly<
      Record<string, { readonly optionalDependencies?: Readonly<Record<string, string>> }>
    >
  }

  test('dependencies are pinned to exact versions', () => {
    const loose = Object.entries({ ...dependencies, ...devDependencies }).filter(([, version]) => {
      return !/^(npm:[\w.@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)
    })
    expect(loose).toEqual([])
  })

  // If npm writes the file next to an existing node_modules, it leaves out other platforms, and `npm ci` then refuses the
  // file as a whole.
  test('dependencies are locked for every platform', () => {
    const missing = Object.values(locked).flatMap(({ optionalDependencies = {} }) => {
      return Object.keys(optionalDependencies).filter((name) => {
        return !Object.keys(locked).some((path) => path.endsWith(`node_modules/${name}`))
      })
    })
    expect(missing).toEqual([])
  })

  test('dependencies have a line in the table of packages', () => {
    expect(Object.keys(PACKAGES).sort()).toEqual(Object.keys(dependencies).sort())
  })
})

function layerOf(path: string): Layer | undefined {
  return LAYERS.find(([prefix]) => path.startsWith(prefix))?.[1]
}

function wrongDirections({ path, imports }: Source): readonly string[] {
  const from = layerOf(path)
  if (from === undefined || from === 'tools') return []
  return imports
    .filter(({ isFile }) => isFile)
    .filter(({ target }) => {
      const to = layerOf(target)
      return to === undefined || (to !== from && !MAY_IMPORT[from].includes(to))
    })
    .map(({ target }) => `${path} (${from}) imports ${target} (${layerOf(target) ?? 'no layer'})`)
}

function technologiesOf(source: Source, seen = new Set<string>()): ReadonlySet<string> {
  seen.add(source.path)
  const found = new Set<string>()
  for (const { target, isFile } of source.imports) {
    const technology = TECHNOLOGIES[target]
    if (technology !== undefined) found.add(technology)
    const next = isFile && !seen.has(target) ? BY_PATH.get(target) : undefined
    if (next !== undefined) for (const reached of technologiesOf(next, seen)) found.add(reached)
  }
  return found
}

/** An export is dead if no other file uses it. Exceptions are types, and values that tests import and the file itself
 *  uses. */
function deadExports({ path, bare, exports }: Source): readonly string[] {
  if (isRunByName(path)) return []
  const used = IMPORTED.get(path) ?? new Set()
  if (used.has('*')) return []
  const isTested = (name: string) => IMPORTED_BY_TESTS.get(path)?.has(name) === true
  return exports
    .filter(({ name }) => !used.has(name))
    .filter(({ name, isType }) => !((isType || isTested(name)) && countWord(bare, name) > 1))
    .map(({ name }) => `${path} exports ${name}`)
}

/** The names that others import from each file. */
function namesImported(sources: readonly Source[]): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>()
  for (const { imports } of sources)
    for (const { target, names: imported } of imports)
      names.set(target, new Set([...(names.get(target) ?? []), ...imported]))
  return names
}

/** Worker threads and child processes are started from built files, so such names end in `.js`. */
function isRunByName(path: string): boolean {
  return NAMES_RUN.has(path.slice(path.lastIndexOf('/') + 1).replace(/\.ts$/, ''))
}

function countWord(text: string, word: string): number {
  return text.match(new RegExp(`\\b${word}\\b`, 'g'))?.length ?? 0
}

function matches(path: string, text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([found]) => `${path}: ${found}`)
}
