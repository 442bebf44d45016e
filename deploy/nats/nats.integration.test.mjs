// Runs a real NATS server with this configuration.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../api/blackbox/testing/service.ts'
import { Authority } from '../../api/cli/certs/authority.ts'
import { openJetStreamLog } from '../../engine/adapters/log/jetstream/jetstream.ts'
import { bundle, drain, NOTHING, show } from '../../engine/adapters/log/testing/contract.ts'
import { openNats } from '../../engine/adapters/nats/nats-link.ts'
import { makeSecrets } from '../secrets.mjs'

const { TEST_SERVER_NATS_SERVER: program } = process.env
const dir = mkdtempSync(join(tmpdir(), 'fleet-nats-conf-'))
const { secrets } = makeSecrets(join(dir, 'secrets'), { isRoot: false })
const confOf = (name) => fileURLToPath(new URL(name, import.meta.url))
const env = {
  NATS_SERVER_NAME: 'nats-1',
  ...Object.fromEntries(
    readFileSync(join(dir, 'secrets', 'nats.env'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('=')),
  ),
}
const connections = []
let server
let ports

beforeAll(async () => {
  if (program === undefined) return
  // The folder of the store cannot be set both on the command line and in the file.
  const conf = join(dir, 'nats-server.conf')
  const text = readFileSync(confOf('nats-server.conf'), 'utf8')
  writeFileSync(conf, text.replace('"/data"', JSON.stringify(join(dir, 'store'))))
  const where = ['-a', '127.0.0.1', '-p', '-1', '-m', '-1', '--ports_file_dir', dir]
  server = spawn(program, ['-c', conf, ...where], { env, stdio: 'ignore' })
  server.ended = new Promise((resolve) => server.once('close', resolve))
  ports = await until('nats-server listens', readPorts)
})
afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()))
  server?.kill('SIGKILL')
  await server?.ended
  rmSync(dir, { recursive: true, force: true })
})

function readPorts() {
  const file = readdirSync(dir).find((name) => name.endsWith('.ports'))
  const text = file === undefined ? '' : readFileSync(join(dir, file), 'utf8')
  return text === '' ? undefined : JSON.parse(text)
}

async function open(user, pass) {
  const connection = await connect({
    servers: ports.nats[0],
    user,
    pass,
    reconnect: false,
    inboxPrefix: '_INBOX',
  })
  connections.push(connection)
  return connection
}

describe.skipIf(program === undefined)('NATS', () => {
  test('every file is a valid configuration', () => {
    const valid = (file) =>
      execFileSync(program, ['-t', '-c', file], { env, encoding: 'utf8', stdio: 'pipe' })
    valid(confOf('nats-server.conf'))
    valid(withCertificates())
    const broken = join(dir, 'broken.conf')
    writeFileSync(broken, 'jetstream { sync_intervall: always }')
    expect(() => valid(broken)).toThrow()
  })

  test('a message is synced to disk before it is acknowledged', async () => {
    const {
      jetstream: { config },
    } = await (await fetch(`${ports.monitoring[0]}/varz`)).json()
    expect(config.sync_always).toBe(true)
  })

  test('a client without the right password is refused', async () => {
    await expect(open(undefined, undefined)).rejects.toThrow(/authorization/i)
    await expect(open('fleet', 'guessed')).rejects.toThrow(/authorization/i)
  })

  test('the service can run its log without a warning, and cannot delete a stream', async () => {
    const warnings = []
    const link = await openNats({
      servers: [ports.nats[0]],
      user: 'fleet',
      password: secrets.nats_fleet,
      durability: 'power',
      monitors: [ports.monitoring[0]],
      warn: (message) => warnings.push(message),
    })
    connections.push(link.connection)
    const log = await openJetStreamLog(link, {
      replicas: 1,
      bytesMax: 1_000_000,
      retentionMs: 0,
      trimEveryMs: 0,
    })
    await log.append([bundle(7, 'first')], 1e6)
    await log.append([bundle(7, 'second')], 2e6)
    await log.trim(log.ends())
    expect(show(await drain(log.reader([7], NOTHING)))).toEqual(['7=second'])
    await log.close()
    expect(warnings).toEqual([])
    const manager = await jetstreamManager(await open('fleet', secrets.nats_fleet))
    await expect(manager.streams.delete('fleet-log')).rejects.toThrow(/permission|timeout/i)
  })

  test('the service can use only its own subjects', async () => {
    const connection = await open('fleet', secrets.nats_fleet)
    const denied = new Promise((resolve) =>
      connection.subscribe('$SYS.>', { callback: (error) => resolve(error) }),
    )
    expect(String(await denied)).toMatch(/permission/i)
  })
})

/** Copies the cluster's file to a folder with certificates that it can read. */
function withCertificates() {
  const certs = join(dir, 'certs')
  const authority = Authority.create(certs, { name: 'CA', days: 2, crlUrl: undefined, now: Date.now() })
  authority.issueServer(['nats-1', 'nats-2', 'nats-3'], { days: 1, now: Date.now() })
  const path = join(dir, 'nats-cluster.conf')
  writeFileSync(path, readFileSync(confOf('nats-cluster.conf'), 'utf8').replaceAll('/run/fleet/certs', certs))
  return path
}
