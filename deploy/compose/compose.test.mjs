// Checks the compose files without running a container. They are merged as compose merges them.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { readSettings } from '../../api/service/settings/settings.ts'
import { makeSecrets } from '../secrets.mjs'
import { networksOf, readCompose } from '../testing/compose.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-compose-'))
makeSecrets(dir, { isRoot: false })
afterAll(() => rmSync(dir, { recursive: true }))

const STACKS = {
  dev: ['compose.yaml', 'dev.yaml'],
  prod: ['compose.yaml', 'prod.yaml'],
  cluster: ['compose.yaml', 'prod.yaml', 'cluster.yaml'],
  embedded: ['embedded.yaml'],
  'embedded, with TLS for devices': ['embedded.yaml', 'embedded-tls.yaml'],
  'embedded, observed': ['embedded.yaml', 'observability.yaml'],
  'prod, observed': ['compose.yaml', 'prod.yaml', 'observability.yaml'],
}
const stacks = Object.entries(STACKS).map(([name, files]) => [name, readCompose(...files)])
const each = (compose, look) =>
  Object.entries(compose.services).map(([name, service]) => [name, look(service)])
const wrong = (compose, isRight) => each(compose, isRight).flatMap(([name, right]) => (right ? [] : [name]))

describe.each(stacks)('%s', (stack, compose) => {
  test('every image has a fixed version', () => {
    const isPinned = ({ image }) => /^[\w./-]+:(?!latest)[\w.-]+$/.test(image)
    expect(wrong(compose, isPinned)).toEqual([])
    expect(
      each(compose, ({ image }) => image).filter(
        ([, image]) => /emqx/.test(image) && !image.endsWith(':5.8.9'),
      ),
    ).toEqual([])
  })

  test('no container has more rights than it needs', () => {
    expect(
      wrong(
        compose,
        ({ cap_drop, cap_add, privileged }) => `${cap_drop}` === 'ALL' && !cap_add && !privileged,
      ),
    ).toEqual([])
    expect(wrong(compose, ({ security_opt }) => `${security_opt}` === 'no-new-privileges:true')).toEqual([])
    // The image of the service sets its user itself.
    expect(
      wrong(compose, ({ user, build }) => build !== undefined || /^[1-9]\d*:[1-9]\d*$/.test(user)),
    ).toEqual([])
  })

  test('every file system is read-only, except where the image writes at the start', () => {
    const writing = wrong(compose, ({ read_only }) => read_only === true)
    expect(writing.filter((name) => !/^(emqx|clickhouse|keeper)(-\d)?$/.test(name))).toEqual([])
  })

  test('every container has a health check, a grace period and a bounded log', () => {
    expect(
      wrong(compose, ({ healthcheck, build }) => build !== undefined || healthcheck !== undefined),
    ).toEqual([])
    expect(wrong(compose, ({ stop_grace_period }) => stop_grace_period !== undefined)).toEqual([])
    expect(wrong(compose, ({ logging }) => logging?.options['max-size'] !== undefined)).toEqual([])
    expect(wrong(compose, ({ init }) => init === true)).toEqual([])
    const waits = each(compose, ({ depends_on = {} }) => Object.entries(depends_on)).flatMap(([, on]) => on)
    for (const [name, { condition }] of waits)
      expect([name, name in compose.services, condition]).toEqual([name, true, 'service_healthy'])
  })

  test('every mounted file and every volume exists', () => {
    const mounts = each(compose, ({ volumes = [] }) => volumes).flatMap(([, volumes]) => volumes)
    for (const mount of mounts) {
      const [source, , mode] = mount.split(':')
      if (!source.startsWith('.')) expect(Object.keys(compose.volumes)).toContain(source)
      else {
        const isMade =
          source.startsWith('../secrets/') &&
          (source === '../secrets/certs' || existsSync(join(dir, source.slice(11))))
        expect([mount, isMade || existsSync(new URL(source, import.meta.url)), mode]).toEqual([
          mount,
          true,
          'ro',
        ])
      }
    }
    for (const [, files] of each(compose, ({ env_file = [] }) => env_file))
      for (const file of files)
        expect([file, existsSync(join(dir, file.replace('../secrets/', '')))]).toEqual([file, true])
  })

  test('the environment holds no secret', () => {
    const named = each(compose, ({ environment = {} }) =>
      // FLEET_TLS_KEY… names a file and holds no secret.
      Object.keys(environment).filter((name) => /PASSW|SECRET|(?<!^FLEET_TLS)_KEY|COOKIE|TOKEN/.test(name)),
    )
    expect(named.filter(([, names]) => names.length > 0)).toEqual([])
  })

  test('the service accepts its settings, and strangers cannot register', () => {
    const fleets = Object.entries(compose.services).filter(([, { image }]) => image.startsWith('fleet:'))
    expect(fleets.map(([name]) => name)).toContain('fleet')
    for (const [name, { environment, env_file: files }] of fleets) {
      const given = files.flatMap((file) =>
        readFileSync(join(dir, file.replace('../secrets/', '')), 'utf8')
          .trim()
          .split('\n'),
      )
      const pairs = [
        ...given.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
        // A variable without a value comes from the shell.
        ...Object.entries(environment).filter(([, value]) => value !== null),
      ]
      const { kind, line, settings } = readSettings(Object.fromEntries(pairs), { cores: 4 })
      expect([name, line, kind]).toEqual([name, undefined, 'settings'])
      expect([name, settings.registration]).toEqual([name, 'bootstrap'])
    }
  })

  test('only the intended ports are published', () => {
    const published = each(compose, ({ ports = [] }) => ports).flatMap(([name, ports]) =>
      ports.map((port) => `${name} ${port}`),
    )
    const outside = published.filter((port) => !/ 127\.0\.0\.1:/.test(port))
    const expected = {
      dev: [],
      embedded: ['nginx 443:8443', 'nginx 80:8080'],
      'embedded, with TLS for devices': [
        'fleet 8883:8883',
        'fleet 8084:8084',
        'nginx 443:8443',
        'nginx 80:8080',
      ],
      prod: ['emqx 8883:8883', 'emqx 8885:8885', 'emqx 8084:8084', 'nginx 443:8443', 'nginx 80:8080'],
    }
    const kind = stack in expected ? stack : stack.startsWith('embedded') ? 'embedded' : 'prod'
    expect(outside.toSorted()).toEqual(expected[kind].toSorted())
    expect(compose.networks['core']).toMatchObject({ internal: true })
    for (const [name, service] of Object.entries(compose.services)) {
      const isOpen = (service.ports ?? []).length > 0
      expect([name, networksOf(service).includes('edge')]).toEqual([name, isOpen])
      expect([name, networksOf(service).includes('core')]).toEqual([name, true])
    }
  })
})

test.each(stacks.filter(([name]) => name !== 'dev'))(
  '%s limits memory and CPU, and restarts every container',
  (_, compose) => {
    expect(
      wrong(compose, ({ deploy }) => deploy?.resources?.limits?.memory && deploy.resources.limits.cpus),
    ).toEqual([])
    expect(wrong(compose, ({ restart }) => restart === 'unless-stopped')).toEqual([])
  },
)

test('maxmemory of Redis leaves room below the limit of its container', () => {
  const [, gigabytes] = /^maxmemory (\d+)gb$/m.exec(
    readFileSync(new URL('../redis/redis.conf', import.meta.url), 'utf8'),
  )
  const { memory } = readCompose(...STACKS.prod).services['redis'].deploy.resources.limits
  expect(Number(memory.replace('g', ''))).toBeGreaterThanOrEqual(Number(gigabytes) * 1.5)
})

test('every node of a cluster has its own name and volume', () => {
  const { services } = readCompose(...STACKS.cluster)
  const seeds = services['emqx'].environment.EMQX_CLUSTER__STATIC__SEEDS
  for (const prefix of ['emqx', 'nats', 'keeper', 'clickhouse']) {
    const nodes = Object.entries(services).filter(
      ([name]) => name === prefix || name.startsWith(`${prefix}-`),
    )
    expect(nodes.length).toBeGreaterThanOrEqual(2)
    const own = nodes.map(([, { volumes }]) => volumes.filter((volume) => !volume.startsWith('.')))
    expect(new Set(own.flat()).size).toBe(nodes.length)
    const names = nodes.map(
      ([, { environment: e }]) =>
        e.EMQX_NODE__NAME ?? e.NATS_SERVER_NAME ?? e.FLEET_KEEPER_ID ?? e.FLEET_CLICKHOUSE_REPLICA,
    )
    expect(new Set(names).size).toBe(nodes.length)
    if (prefix === 'emqx') for (const name of names) expect(seeds).toContain(name)
  }
})

test('a cluster runs several processes of every role', () => {
  const { services } = readCompose(...STACKS.cluster)
  const replicas = Object.values(services)
    .filter(({ image }) => image.startsWith('fleet:'))
    .map(({ environment, deploy }) => [environment.FLEET_ROLES, deploy.replicas])
  expect(Object.fromEntries(replicas)).toEqual({ api: 2, engine: 3, ingress: 2 })
})
