// Compares the pages with the code: the files, settings, alerts and commands that they name must exist, and every setting
// must have its line.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { NAMES, SECRET_NAMES } from '../api/service/settings/names.ts'
import { LIMITS } from '../engine/limits.ts'
import {
  ANSWER_MESSAGES,
  CLOUD_MESSAGES,
  PROVISION_REQUEST,
  UPLINK_MESSAGES,
} from '../schemas/mqtt-messages.ts'
import { isRetainable } from '../schemas/topics.ts'
import { readCompose } from './testing/compose.ts'

const ROOT = new URL('../', import.meta.url)
const PAGES = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'api/README.md',
  'api/DEVICES.md',
  'api/ROS2.md',
  'api/CHANNELS.md',
  'bench/BENCHMARKS.md',
  'deploy/README.md',
  'engine/DESIGN.md',
]
/** Paths of pages begin with one of these folders, from the root or from the page's own folder. */
const FOLDERS =
  /(?<![\w/.<>@-])((?:api|bench|deploy|engine|schemas|compose|systemd|clickhouse|prometheus|adapters|domain|ports|runtime|sim|edge)\/[\w@./*-]*\w)/g
/** Files that are made at run time and do not exist in a clone. */
const MADE = /^deploy\/(secrets(\/|$)|compose\/\.env$)/

const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')
const isThere = (path: string, page: string) =>
  existsSync(fileURLToPath(new URL(path, ROOT))) ||
  existsSync(fileURLToPath(new URL(path, new URL(page, ROOT))))
const find = (text: string, pattern: RegExp) => [
  ...new Set([...text.matchAll(pattern)].map(([, found = '']) => found)),
]
/** Returns the anchor that GitHub gives a heading. */
const toAnchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-')

describe.each(PAGES)('%s', (page) => {
  const text = read(page)

  test('names files that exist', () => {
    const lost = find(text, FOLDERS).filter((path) => !isThere(path.replace(/\*.*$/, ''), page))
    expect(lost.filter((path) => !MADE.test(path))).toEqual([])
  })

  test('links to pages and headings that exist', () => {
    const lost = find(text, /\]\(((?!https?:)[^)]+)\)/g).filter((link) => {
      const [path = '', anchor] = link.split('#')
      if (path !== '' && !isThere(path, page)) return true
      if (anchor === undefined) return false
      const target = path === '' ? text : readFileSync(new URL(path, new URL(page, ROOT)), 'utf8')
      return !find(target, /^#+ (.+)$/gm).some((heading) => toAnchor(heading) === anchor)
    })
    expect(lost).toEqual([])
  })

  test('names settings that exist', () => {
    const ofCommandLine = find(read('api/cli/environment.ts'), /'(FLEET_CLI_\w+)'/g)
    // The kit for devices passes these variables to the programs it tests.
    const ofDevices = find(read('engine/edge/conformance/device/bench.ts'), /\b(FLEET_[A-Z_]+):/g)
    const known = new Set<string>([
      ...ofDevices,
      ...NAMES,
      ...SECRET_NAMES.map((name) => `${name}_FILE`),
      ...ofCommandLine,
    ])
    expect(find(text, /\b(FLEET_[A-Z_]+[A-Z])\b/g).filter((name) => !known.has(name))).toEqual([])
  })

  test('names commands that exist', () => {
    const program = read('api/cli/program.ts')
    const areas = find(text, /(?:npx |`)fleet ([a-z][a-z-]+)/g)
    expect(areas.filter((area) => !new RegExp(`^  '?${area}'?: \\{`, 'm').test(program))).toEqual([])
  })
})

test('every setting has a line in deploy/README.md', () => {
  const rows = read('deploy/README.md')
    .split('\n')
    .filter((line) => line.startsWith('| `FLEET_'))
  const described = new Set(rows.flatMap((row) => find(row.split(' | ')[0] ?? '', /`(FLEET_\w+)`/g)))
  expect([...described].sort()).toEqual([...NAMES].sort())
})

test('the steps that start containers set what the compose files take from the environment', () => {
  const starts = find(read('deploy/README.md'), /```bash\n([^`]+? up -d --build\n)/g)
  const lacking = starts.map((lines) => {
    const { services } = readCompose(...find(lines, /-f deploy\/compose\/([\w.-]+)/g))
    const asked = Object.values(services).flatMap(({ environment = {} }) =>
      Object.keys(environment).filter((name) => !environment[name]),
    )
    return asked.filter((name) => !new RegExp(`\\b${name}=`).test(lines))
  })
  expect(lacking).toEqual([[], []])
})

test('alerts that deploy/README.md names exist', () => {
  const rules = readdirSync(new URL('deploy/prometheus/rules', ROOT)).map((name) =>
    read(`deploy/prometheus/rules/${name}`),
  )
  const known = new Set(rules.flatMap((rule) => find(rule, /alert: (\w+)/g)))
  const named = find(read('deploy/README.md'), /`((?:Fleet|Emqx)[A-Z]\w+)`/g)
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter((name) => !known.has(name))).toEqual([])
})

test('the guide for devices has every topic in its direction, with QoS, retain and an example', () => {
  const [, publishes = '', isSent = ''] = read('api/DEVICES.md').split(
    /^## What a device (?:publishes|is sent)$/m,
  )
  const sent = [...Object.values(CLOUD_MESSAGES), ...ANSWER_MESSAGES]
  const published = [...Object.values(UPLINK_MESSAGES).flat(), PROVISION_REQUEST]
  const rowsOf = (text: string) =>
    [...text.matchAll(/^\| `([^`]+)` +\| ([\w ]+?) +\| ([\w ]+?) +\| (.+?) +\|$/gm)].map((row) =>
      row.slice(1),
    )
  for (const [text, messages] of [
    [publishes, published],
    [isSent, sent],
  ] as const) {
    const rows = rowsOf(text)
    expect(rows.map(([suffix]) => suffix).sort()).toEqual(messages.map(({ suffix }) => suffix).sort())
    for (const { suffix, qos, isRetained } of messages) {
      const [, levels = '', retain, about] = rows.find(([name]) => name === suffix) ?? []
      expect([suffix, levels.split(' or ')]).toEqual([suffix, expect.arrayContaining([String(qos)])])
      const retains = isRetained ? ['yes'] : isRetainable(suffix) ? ['may be'] : ['no']
      expect([suffix, retains]).toEqual([suffix, expect.arrayContaining([retain])])
      expect(about).toMatch(/`\{"|`[\d.]+`|see (?:above|below)/)
    }
  }
})

test('the limits in the guide for devices are those of the code', () => {
  const [, limits = ''] = read('api/DEVICES.md').split(/^## Limits$/m)
  const kib = (bytes: number) => `${bytes / 1_024} KiB`
  const many = (count: number) => (count >= 1_000 ? `${count / 1_000} 000` : String(count))
  const { telemetryFieldsMax, telemetryDepthMax, metricNameBytesMax } = LIMITS
  const bounds = {
    payload: kib(LIMITS.payloadBytesMax),
    CONNECT: kib(LIMITS.connectBytesMax),
    'topic or': `${LIMITS.topicBytesMax} bytes, ${LIMITS.topicLevelsMax} levels`,
    subscriptions: String(LIMITS.subscriptionsPerSessionMax),
    'topics by': String(LIMITS.topicAliasesMax),
    fields: `${many(telemetryFieldsMax)}, ${telemetryDepthMax}, ${metricNameBytesMax}`,
    measurements: many(LIMITS.telemetryReportsMax),
    result: kib(LIMITS.commandResultBytesMax),
    reported: kib(LIMITS.shadowSideBytesMax),
    retained: kib(LIMITS.retainedBytesPerDeviceMax),
    kept: `${many(LIMITS.offlineQueueMax)} messages, ${LIMITS.offlineQueueBytesMax / 1_024 ** 2} MiB`,
  }
  for (const [what, bound] of Object.entries(bounds)) {
    const row = limits.split('\n').find((line) => line.startsWith(`| ${what}`)) ?? ''
    expect([what, row.split(' | ')[1]?.trim()]).toEqual([what, bound])
  }
})

test('the guide for devices names every reason of a dead letter', () => {
  const guide = read('api/DEVICES.md')
  const shard = readdirSync(new URL('engine/runtime/shard/', ROOT))
    .filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
    .map((name) => read(`engine/runtime/shard/${name}`))
  const reasons = shard.flatMap((text) => find(text, /\.park\(incoming, '([A-Z_]+)'/g))
  // This reason means a fault of the service, about which a device can do nothing.
  const ours = new Set(['INTERNAL'])
  expect(reasons.length).toBeGreaterThan(4)
  expect(reasons.filter((reason) => !ours.has(reason) && !guide.includes(`\`${reason}\``))).toEqual([])
})

test('the tests that SECURITY.md names exist, and every threat has one', () => {
  const rows = read('SECURITY.md')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| (Threat|-)/.test(line))
  const tests = rows.map((row) => /\| `([\w/.-]+\.test\.ts)`: "([^"]+)" *\|$/.exec(row) ?? [row])
  expect(tests.length).toBeGreaterThan(30)
  const lost = tests.filter(([, path, name]) => path === undefined || !read(path).includes(name ?? path))
  expect(lost.map(([row]) => row)).toEqual([])
})
